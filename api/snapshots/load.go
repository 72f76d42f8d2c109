package snapshots

import (
	"context"

	"attestry/api/resource"
	"attestry/api/server"
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

// timeline is what snapshot expressions are resolved against, once the reports under way have been waited for.
func (h *handlers) timeline(ctx context.Context, environment evidence.Environment) (*timeline.Timeline, error) {
	if err := h.catchUp(ctx, &environment); err != nil {
		return nil, err
	}
	latest, err := h.Snapshots.Latest(ctx, environment.ID)
	return h.timelineUntil(ctx, environment, latest), err
}

// timelineUntil is that of a physical environment whose last snapshot has the number latest; 0 when there is none.
func (h *handlers) timelineUntil(ctx context.Context, environment evidence.Environment, latest int64) *timeline.Timeline {
	return &timeline.Timeline{
		Org: server.Access(ctx).OrgName, Environment: environment.Name, Latest: latest, Now: h.Clock(),
		InForce: func(at float64) (int64, error) { return h.Snapshots.NumberAt(ctx, environment.ID, at) },
	}
}

// resolveSnapshot finds the snapshot of an expression, without what runs by it.
func (h *handlers) resolveSnapshot(ctx context.Context, environment evidence.Environment, asked timeline.Expression) (loadedSnapshot, error) {
	timeline, err := h.timeline(ctx, environment)
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

// loadSnapshot reads the snapshot of an expression: as many commands for each of its
// two trees as that has levels, and six beside them.
func (h *handlers) loadSnapshot(ctx context.Context, environment evidence.Environment, asked timeline.Expression) (loadedSnapshot, error) {
	loaded, err := h.resolveSnapshot(ctx, environment, asked)
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

// catchUp waits for the reports under way to an environment, and adds to a logical one the snapshots that are missing.
func (h *handlers) catchUp(ctx context.Context, environment *evidence.Environment) error {
	if environment.Logical() {
		return h.Logical.CatchUp(ctx, environment)
	}
	return h.Intake.CatchUp(ctx, environment.ID, resource.CatchUpSpan)
}

// loadMembers adds what runs by a snapshot of a logical environment, and what has changed against the one before: three
// commands, and one for each level of the highest of all members' trees.
func (h *handlers) loadMembers(ctx context.Context, loaded *loadedSnapshot) error {
	shown := []snapshot.Snapshot{loaded.Snapshot}
	before, err := h.Snapshots.GetMany(ctx, loaded.Environment, []int64{loaded.Number - 1})
	if err != nil {
		return err
	}
	united, err := h.unionOf(ctx, append(shown, before...))
	if err != nil {
		return err
	}
	loaded.Artifacts = united[0]
	loaded.Counts = snapshot.Count(loaded.Artifacts)
	former := append(united, nil)[1] // nothing ran before the first snapshot
	loaded.Changes = snapshot.Diff(former, loaded.Artifacts)
	return nil
}

// unionOf returns what runs by each of several snapshots of a logical environment.
func (h *handlers) unionOf(ctx context.Context, of []snapshot.Snapshot) ([][]snapshot.Artifact, error) {
	var members []snapshot.Member
	for i := range of {
		members = append(members, of[i].Members...)
	}
	parts, err := h.Snapshots.Of(ctx, members)
	if err != nil {
		return nil, err
	}
	lists, err := h.Snapshots.ArtifactsOf(ctx, parts)
	if err != nil {
		return nil, err
	}
	type key struct {
		environment string
		number      int64
	}
	artifacts := make(map[key][]snapshot.Artifact, len(parts))
	for i := range parts {
		artifacts[key{parts[i].Environment, parts[i].Number}] = lists[i]
	}
	return resource.Map(of, func(one *snapshot.Snapshot) []snapshot.Artifact {
		return snapshot.Union(resource.Map(one.Members, func(m *snapshot.Member) []snapshot.Artifact {
			return artifacts[key{m.Environment, m.Number}]
		}))
	}), nil
}
