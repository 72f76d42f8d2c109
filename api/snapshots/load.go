package snapshots

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/evidence/timeline"
	"attestry/storage"
)

// loadedSnapshot is a snapshot with what runs by it.
type loadedSnapshot struct {
	snapshot.Snapshot
	// Next is when the snapshot after it began, in Unix seconds; nil for the latest.
	Next *float64
	// Artifacts are sorted by fingerprint.
	Artifacts []snapshot.Artifact
	// Changes are those against the snapshot before.
	Changes []snapshot.Change
}

// timeline is what snapshot expressions are resolved against, once the reports under
// way have been waited for.
func (h *handlers) timeline(ctx context.Context, org evidence.OrgAccess, environment evidence.Environment) (*timeline.Timeline, error) {
	if err := h.catchUp(ctx, &environment); err != nil {
		return nil, err
	}
	latest, err := h.Snapshots.Latest(ctx, environment.ID)
	return h.timelineUntil(ctx, org, environment, latest), err
}

// timelineUntil is that of a physical environment whose last snapshot has the number
// latest; 0 when there is none.
func (h *handlers) timelineUntil(ctx context.Context, org evidence.OrgAccess, environment evidence.Environment, latest int64) *timeline.Timeline {
	return &timeline.Timeline{
		Org: org.OrgName, Environment: environment.Name, Latest: latest, Now: h.Clock(),
		InForce: func(at float64) (int64, error) { return h.Snapshots.NumberAt(ctx, environment.ID, at) },
	}
}

// resolveSnapshot finds the snapshot that is asked for, without what runs by it.
func (h *handlers) resolveSnapshot(ctx context.Context, org evidence.OrgAccess, environment evidence.Environment, asked timeline.Expression) (loadedSnapshot, error) {
	timeline, err := h.timeline(ctx, org, environment)
	if err != nil {
		return loadedSnapshot{}, err
	}
	number, err := timeline.Resolve(asked)
	if err != nil {
		return loadedSnapshot{}, err
	}
	found, err := h.Snapshots.GetMany(ctx, environment.ID, []int64{number, number + 1})
	if err != nil {
		return loadedSnapshot{}, err
	}
	if len(found) == 0 || found[0].Number != number {
		return loadedSnapshot{}, storage.ErrNotFound
	}
	picked := loadedSnapshot{Snapshot: found[0]}
	if len(found) > 1 {
		picked.Next = &found[1].Timestamp
	}
	return picked, nil
}

// loadSnapshot reads the snapshot that is asked for: as many commands for each of its
// two trees as that has levels, and six beside them.
func (h *handlers) loadSnapshot(ctx context.Context, org evidence.OrgAccess, environment evidence.Environment, asked timeline.Expression) (loadedSnapshot, error) {
	loaded, err := h.resolveSnapshot(ctx, org, environment, asked)
	if err != nil {
		return loaded, err
	}
	if environment.Logical() {
		err = h.loadMembers(ctx, &loaded)
		return loaded, err
	}
	if loaded.Artifacts, err = h.Snapshots.Artifacts(ctx, &loaded.Snapshot); err != nil {
		return loaded, err
	}
	loaded.Changes, err = h.Snapshots.Changes(ctx, &loaded.Snapshot)
	return loaded, err
}
