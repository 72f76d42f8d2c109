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

// addUnapproved sets which earlier trails artifacts would bring now to an environment without approval, if a policy asks for
// that. It takes as many commands as Trails.Unapproved, and one for thousands of artifacts.
func addUnapproved(ctx context.Context, base *resource.Base, basis *Basis, subjects []facts.Subject) error {
	if basis.Environment.ID == "" || !policy.AskSinceRelease(basis.Applied) {
		return nil
	}
	trails, brought := map[environments.PredecessorQuery]string{}, map[string]map[string][]string{}
	for i := range subjects {
		subject := &subjects[i]
		if brought[subject.Fingerprint] == nil {
			brought[subject.Fingerprint] = map[string][]string{}
		}
		subject.Unapproved = brought[subject.Fingerprint]
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
		brought[query.Fingerprint][query.Lineage.Flow] = unapproved[release]
	}
	return err
}
