package pipelines

import (
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/storage"
)

// Release is an artifact that replaces another one of its flow, by the keys of both trails and their reference name.
type Release struct{ Trail, Replaced, Slot string }

// maxUnapproved limits the trails that Unapproved returns for a release: the first ones.
const maxUnapproved = 10

// errEnough ends the search for trails.
var errEnough = errors.New("enough trails were found")

// Unapproved returns the names of the unapproved trails that releases bring besides their own: those begun between the
// two trails (docs/semantics.md 18.12). It takes a command for MaxMany trails, and at least one for each pair.
func (t *Trails) Unapproved(ctx context.Context, releases []Release) (map[Release][]string, error) {
	var keys []string
	pairs := map[Release][]Release{} // by a release without a reference name
	for _, one := range evidence.FirstOfEach(releases, func(one Release) Release { return one }) {
		keys = append(keys, one.Trail, one.Replaced)
		pair := Release{Trail: one.Trail, Replaced: one.Replaced}
		pairs[pair] = append(pairs[pair], one)
	}
	found, err := t.GetMany(ctx, evidence.Distinct(keys))
	if err != nil {
		return nil, err
	}
	trails, unapproved := evidence.ByKey(found, (*evidence.Trail).Key), map[Release][]string{}
	for pair, some := range pairs {
		trail, replaced := trails[pair.Trail], trails[pair.Replaced]
		if replaced.CreatedAt >= trail.CreatedAt {
			continue
		}
		if err := t.addUnapproved(ctx, &replaced, &trail, some, unapproved); err != nil {
			return nil, err
		}
	}
	return unapproved, nil
}

// addUnapproved adds the trails between two, by the releases that bring them.
func (t *Trails) addUnapproved(ctx context.Context, first, last *evidence.Trail, releases []Release, unapproved map[Release][]string) error {
	query := storage.Query{
		Index: "flow", Equal: []any{last.Org, last.Flow}, Limit: storage.MaxMany,
		From: &storage.Bound{Value: first.CreatedAt, Exclusive: true}, To: &storage.Bound{Value: last.CreatedAt, Exclusive: true},
	}
	query.Narrow(true, "approved", storage.Equals, nil)
	known := []string{evidence.CommitSHA(first.Commit), evidence.CommitSHA(last.Commit)}
	err := storage.ForEach(ctx, t.Collection, query, func(one *evidence.Trail) error {
		commit, enough := evidence.CommitSHA(one.Commit), errEnough
		for _, release := range releases {
			names := unapproved[release]
			if len(names) < maxUnapproved && one.MayBuild(release.Slot) && one.Commit.OnBranchOf(last.Commit) && (commit == "" || !slices.Contains(known, commit)) {
				names = append(names, one.Name)
				unapproved[release] = names
			}
			if len(names) < maxUnapproved {
				enough = nil
			}
		}
		return enough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}
