package assessment

import (
	"context"
	"maps"
	"math"
	"slices"

	"attestry/api/resource"
	"attestry/app/facts"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
	"attestry/storage/environments"
	"attestry/storage/pipelines"
)

// addUnapproved sets Unapproved of the subjects: the unapproved trails that each would bring to the environment. They
// are the trails since the artifact that it would replace. It does nothing unless a policy needs them. It takes one
// command for thousands of artifacts, and those of Trails.Unapproved.
func addUnapproved(ctx context.Context, base *resource.Base, basis *Basis, subjects []facts.Subject) error {
	if basis.Environment.ID == "" || !policy.RequireSinceRelease(basis.Applied) {
		return nil
	}
	trails, byFingerprint := map[environments.PredecessorQuery]string{}, map[string]map[string][]string{}
	for i := range subjects {
		subject := &subjects[i]
		if byFingerprint[subject.Fingerprint] == nil {
			byFingerprint[subject.Fingerprint] = map[string][]string{}
		}
		subject.Unapproved = byFingerprint[subject.Fingerprint]
		for j := range subject.Origins {
			lineage := snapshot.LineageOf(&subject.Origins[j])
			query := environments.PredecessorQuery{Lineage: lineage, Fingerprint: subject.Fingerprint, Since: math.MaxInt64}
			trails[query] = subject.Origins[j].TrailKey()
		}
	}
	replaced, err := base.Successions.Predecessors(ctx, basis.Environment.ID, slices.Collect(maps.Keys(trails)))
	if err != nil {
		return err
	}
	releases := map[environments.PredecessorQuery]pipelines.Release{}
	for query, predecessor := range replaced {
		releases[query] = pipelines.Release{Trail: trails[query], Replaced: predecessor.Origin.TrailKey(), Slot: query.Lineage.Slot}
	}
	unapproved, err := base.Trails.Unapproved(ctx, slices.Collect(maps.Values(releases)))
	for query, release := range releases {
		byFingerprint[query.Fingerprint][query.Lineage.Flow] = unapproved[release]
	}
	return err
}
