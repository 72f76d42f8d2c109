package environments

import (
	"context"
	"errors"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/names"
)

// Including returns the ids of the logical environments of an organization that include one of the environments: one
// command for up to a thousand logical environments. It decodes none, so that a damaged one does not hide the others.
func (e *Environments) Including(ctx context.Context, org string, members ...string) ([]string, error) {
	if len(members) == 0 {
		return nil, nil
	}
	var ids []string
	err := e.eachLogical(ctx, org, func(id string, included []string) {
		if slices.ContainsFunc(included, func(member string) bool { return slices.Contains(members, member) }) {
			ids = append(ids, id)
		}
	})
	return ids, err
}

// IncludingArchived returns the ids of the logical environments of an organization that include an archived environment
// of a name: one command if there are no logical environments, else two and those of Including.
func (e *Environments) IncludingArchived(ctx context.Context, org, name string) ([]string, error) {
	var members []string
	err := e.eachLogical(ctx, org, func(_ string, included []string) { members = append(members, included...) })
	if err != nil || len(members) == 0 {
		return nil, err
	}
	found, err := e.collection.GetMany(ctx, storage.Distinct(members))
	if err != nil {
		return nil, err
	}
	var archived []string
	for i := range found {
		if found[i].Archived && found[i].Name == name {
			archived = append(archived, found[i].ID)
		}
	}
	return e.Including(ctx, org, archived...)
}

func (e *Environments) eachLogical(ctx context.Context, org string, yield func(id string, included []string)) error {
	query := storage.Query{Index: "logical", Equal: []any{org}, Limit: storage.MaxMany}
	return storage.ForEachFields(ctx, e.collection, query, func(record *storage.Record) error {
		yield(record.ID, strings.Fields(record.Text("included")))
		return nil
	})
}

// Membership reads an environment with its active members. It stores the successor of an archived member for good, so
// that Including finds it from then on.
func (e *Environments) Membership(ctx context.Context, id string) (evidence.Environment, error) {
	for range names.Attempts {
		stored, err := e.collection.Get(ctx, id)
		if err != nil || stored.Archived || !stored.Logical() {
			return stored, err
		}
		followed := []evidence.Environment{stored}
		if err := e.FollowRevivals(ctx, stored.Org, followed); err != nil {
			return stored, err
		}
		if slices.Equal(followed[0].Included, stored.Included) {
			return followed[0], nil
		}
		_, err = e.collection.Update(ctx, id, func(current *evidence.Environment) error {
			if slices.Equal(current.Included, stored.Included) {
				current.Included = followed[0].Included
			}
			return nil
		})
		if err != nil {
			return stored, err
		}
	}
	return evidence.Environment{}, names.ErrBusy
}

// Reindex writes an environment with its declared fields: Including does not find a logical environment that a version
// before the index has stored.
func (e *Environments) Reindex(ctx context.Context, id string) error {
	stored, err := e.collection.GetVersioned(ctx, id)
	if err != nil {
		return err
	}
	_, err = e.collection.Replace(ctx, stored.Value, stored.Revision)
	if errors.Is(err, storage.ErrMoved) {
		return nil // another write has stored the fields
	}
	return err
}
