package snapshots

import (
	"context"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/evidence/timeline"
	"attestry/storage"
)

// loadedSnapshot is a snapshot with its artifacts.
type loadedSnapshot struct {
	snapshot.Snapshot
	// Next is the time of the next snapshot, in Unix seconds; nil for the latest.
	Next *float64
	// Artifacts are sorted by fingerprint.
	Artifacts []snapshot.Artifact
	// Changes are the changes since the previous snapshot.
	Changes []snapshot.Change
}

// timeline waits for pending reports, then returns the timeline that resolves snapshot expressions.
func (h *handlers) timeline(ctx context.Context, environment evidence.Environment) (*timeline.Timeline, error) {
	if err := h.catchUp(ctx, &environment); err != nil {
		return nil, err
	}
	latest, err := h.Snapshots.LastNumber(ctx, environment.ID)
	return h.timelineUntil(ctx, environment, latest), err
}

// timelineUntil returns the timeline of an environment up to the snapshot with the number latest, 0 if there is none.
func (h *handlers) timelineUntil(ctx context.Context, environment evidence.Environment, latest int64) *timeline.Timeline {
	return &timeline.Timeline{
		Org: server.Access(ctx).OrgName, Environment: environment.Name, Latest: latest, Now: h.Clock(),
		InForce: func(at float64) (int64, error) { return h.Snapshots.NumberAt(ctx, environment.ID, at) },
	}
}

// resolveSnapshot reads the snapshot of an expression, without its artifacts.
func (h *handlers) resolveSnapshot(ctx context.Context, environment evidence.Environment, expression timeline.Expression) (loadedSnapshot, error) {
	timeline, err := h.timeline(ctx, environment)
	if err != nil {
		return loadedSnapshot{}, err
	}
	number, err := timeline.Resolve(expression)
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
	resolved := loadedSnapshot{Snapshot: found[0]}
	if len(found) > 1 {
		resolved.Next = &found[1].Timestamp
	}
	return resolved, nil
}

// loadSnapshot reads the snapshot of an expression: one command for each level of its two trees, and six others.
func (h *handlers) loadSnapshot(ctx context.Context, environment evidence.Environment, expression timeline.Expression) (loadedSnapshot, error) {
	loaded, err := h.resolveSnapshot(ctx, environment, expression)
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

// catchUp waits for pending reports of an environment, or adds the missing snapshots of a logical one.
func (h *handlers) catchUp(ctx context.Context, environment *evidence.Environment) error {
	if environment.Logical() {
		return h.Logical.CatchUp(ctx, environment)
	}
	return h.Intake.CatchUp(ctx, environment.ID, resource.CatchUpSpan)
}

// loadMembers sets the artifacts, counts and changes of a logical environment's snapshot: three commands, and one for
// each level of the highest tree of all members.
func (h *handlers) loadMembers(ctx context.Context, loaded *loadedSnapshot) error {
	previous, err := h.Snapshots.GetMany(ctx, loaded.Environment, []int64{loaded.Number - 1})
	if err != nil {
		return err
	}
	unions, parts, err := h.unionOf(ctx, append([]snapshot.Snapshot{loaded.Snapshot}, previous...))
	if err != nil {
		return err
	}
	loaded.Artifacts = unions[0]
	loaded.Counts = snapshot.Count(loaded.Artifacts)
	former := append(unions, nil)[1] // nil for the first snapshot
	loaded.Changes = snapshot.Diff(former, loaded.Artifacts)
	return h.setCauses(ctx, loaded, parts)
}

// setCauses sets what has changed verdicts of a logical snapshot, from the member's snapshot among parts that caused it:
// the union has neither policies nor allow lists, from which Diff could tell.
func (h *handlers) setCauses(ctx context.Context, loaded *loadedSnapshot, parts []snapshot.Snapshot) error {
	changed := func(change snapshot.Change) bool { return change.By != "" }
	made, ok := evidence.First(parts, func(part snapshot.Snapshot) bool {
		return loaded.Cause != nil && part.Environment == loaded.Cause.Environment && part.Number == loaded.Cause.Number
	})
	if !ok || !slices.ContainsFunc(loaded.Changes, changed) {
		return nil
	}
	changes, err := h.Snapshots.Changes(ctx, &made)
	known := evidence.ByKey(changes, func(change *snapshot.Change) string { return change.Fingerprint })
	for i := range loaded.Changes {
		if change := &loaded.Changes[i]; changed(*change) {
			change.By = causeIn(known, change)
		}
	}
	return err
}

// causeIn returns what changed the verdict on an artifact of a logical snapshot, by the changes of the member's snapshot.
// If the artifact began or ceased to run in the member, neither the allow list nor policies changed it. Otherwise it is
// what the member's snapshot says, "" if an earlier version made that.
func causeIn(member map[string]snapshot.Change, change *snapshot.Change) snapshot.Changer {
	one, ok := member[change.Fingerprint]
	switch {
	case !ok:
		return change.By
	case one.Type.Started() || one.Type == snapshot.Exited:
		return snapshot.ByEvidence
	}
	return one.By
}

// unionOf returns the artifacts of each of several snapshots of a logical environment, and the snapshots of its members.
func (h *handlers) unionOf(ctx context.Context, of []snapshot.Snapshot) (unions [][]snapshot.Artifact, parts []snapshot.Snapshot, err error) {
	members := slices.Concat(evidence.Map(of, func(made snapshot.Snapshot) []snapshot.Member { return made.Members })...)
	if parts, err = h.Snapshots.Of(ctx, members); err != nil {
		return nil, nil, err
	}
	lists, err := h.Snapshots.ArtifactsOf(ctx, parts)
	if err != nil {
		return nil, nil, err
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
	}), parts, nil
}
