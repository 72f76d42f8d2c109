package snapshots

import (
	"context"

	"attestry/api/resource"
	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// catchUp waits for the reports under way to an environment, and adds to a logical one
// the snapshots that are missing.
func (h *handlers) catchUp(ctx context.Context, environment *evidence.Environment) error {
	if environment.Logical() {
		return h.Logical.CatchUp(ctx, environment)
	}
	return h.Intake.CatchUp(ctx, environment.ID, resource.CatchUpSpan)
}

// loadMembers adds what runs by a snapshot of a logical environment, and what has
// changed against the one before: three commands, and one for each level of the
// highest of all members' trees.
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
	var former []snapshot.Artifact
	if len(united) > 1 {
		former = united[1]
	}
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
	type place struct {
		environment string
		number      int64
	}
	artifacts := make(map[place][]snapshot.Artifact, len(parts))
	for i := range parts {
		artifacts[place{parts[i].Environment, parts[i].Number}] = lists[i]
	}
	united := make([][]snapshot.Artifact, 0, len(of))
	for i := range of {
		var parts [][]snapshot.Artifact
		for _, member := range of[i].Members {
			parts = append(parts, artifacts[place{member.Environment, member.Number}])
		}
		united = append(united, snapshot.Union(parts))
	}
	return united, nil
}
