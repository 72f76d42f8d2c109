package pipelines

import (
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/storage"
)

// Release is an artifact that replaces another one of its flow under the same reference name.
type Release struct {
	Trail, Replaced string // keys of their trails
	Slot            string
}

// maxUnapproved is how many trails Unapproved names at most of a release: the first.
const maxUnapproved = 10

// errEnough ends the search for trails.
var errEnough = errors.New("enough trails were found")

// Unapproved returns the names of the trails that releases bring besides their own, and that others have not approved: those
// that were begun between the two trails (docs/semantics.md 18.12). It takes a command for MaxMany trails of releases, and
// at least one for each release.
func (t *Trails) Unapproved(ctx context.Context, releases []Release) (map[Release][]string, error) {
	var keys []string
	for _, one := range releases {
		keys = append(keys, one.Trail, one.Replaced)
	}
	found, err := t.GetMany(ctx, storage.Distinct(keys))
	if err != nil {
		return nil, err
	}
	trails, unapproved := storage.ByKey(found, (*evidence.Trail).Key), map[Release][]string{}
	for _, one := range storage.FirstOfEach(releases, func(one Release) Release { return one }) {
		trail, replaced := trails[one.Trail], trails[one.Replaced]
		if replaced.CreatedAt >= trail.CreatedAt {
			continue
		}
		if unapproved[one], err = t.unapprovedBetween(ctx, &replaced, &trail, one.Slot); err != nil {
			return nil, err
		}
	}
	return unapproved, nil
}

func (t *Trails) unapprovedBetween(ctx context.Context, first, last *evidence.Trail, slot string) (names []string, err error) {
	query := storage.Query{
		Index: "flow", Equal: []any{last.Org, last.Flow}, Limit: storage.MaxMany,
		From: &storage.Bound{Value: first.CreatedAt, Exclusive: true}, To: &storage.Bound{Value: last.CreatedAt, Exclusive: true},
	}
	query.Narrow(true, "approved", storage.Equals, nil)
	known := []string{evidence.CommitSHA(first.Commit), evidence.CommitSHA(last.Commit)}
	err = storage.ForEach(ctx, t.Collection, query, func(one *evidence.Trail) error {
		commit := evidence.CommitSHA(one.Commit)
		if one.MayBuild(slot) && one.Commit.OnBranchOf(last.Commit) && (commit == "" || !slices.Contains(known, commit)) {
			names = append(names, one.Name)
		}
		if len(names) == maxUnapproved {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return names, err
}
