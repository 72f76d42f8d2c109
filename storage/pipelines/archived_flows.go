package pipelines

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/names"
)

// archivedIndex finds archived flows by the names that archiving gave them.
var archivedIndex = storage.Index{Name: "archived", Fields: []string{"archived_org", "archived_name"}, Required: "archived_org"}

// Resolve returns the flow that has a name, had it and no other flow has taken it, or got it when it was archived. It
// takes one command, and one more for a name of the form that archiving gives. storage.ErrNotFound means that there is
// none. The Registry resolves only names of flows that are not archived.
func (f *Flows) Resolve(ctx context.Context, org, name string) (names.Entry, error) {
	entry, err := f.Registry.Resolve(ctx, org, name)
	if !errors.Is(err, storage.ErrNotFound) {
		return entry, err
	}
	archived, findErr := f.archived(ctx, org, name)
	if findErr != nil || len(archived) == 0 {
		return entry, cmp.Or(findErr, err)
	}
	return archived[0], nil
}

// ResolveMany is Resolve for several names: one command, and one more if a name has the form that archiving gives.
// Names that refer to no flow are left out.
func (f *Flows) ResolveMany(ctx context.Context, org string, all []string) ([]names.Entry, error) {
	active, err := f.Registry.ResolveMany(ctx, org, all)
	if err != nil {
		return nil, err
	}
	archived, err := f.archived(ctx, org, all...)
	return append(active, archived...), err
}

// archived returns the flows to which archiving gave these names, for the first storage.MaxMany names of that form.
func (f *Flows) archived(ctx context.Context, org string, all ...string) ([]names.Entry, error) {
	wanted := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !evidence.IsArchivedFlowName(name) })
	if len(wanted) == 0 {
		return nil, nil
	}
	wanted = wanted[:min(len(wanted), storage.MaxMany)]
	found, err := storage.FindAll(ctx, f.Collection, storage.Query{
		Index: archivedIndex.Name, Equal: []any{org, storage.OneOrSet(wanted)}, Limit: storage.Unlimited,
	})
	return evidence.Map(found, func(flow evidence.Flow) names.Entry {
		return names.Entry{Org: org, Name: flow.Name, ID: flow.ID}
	}), err
}

// refuseArchived returns evidence.Invalid for the name of an archived flow, which no other flow can have.
func (f *Flows) refuseArchived(ctx context.Context, org, name string) error {
	found, err := f.archived(ctx, org, name)
	if err == nil && len(found) > 0 {
		err = evidence.Errorf(evidence.Invalid, "Flow named '%s' has been archived", name)
	}
	return err
}

// Rename renames the flow of a name, or of a former name; at is the time in Unix seconds. storage.ErrNotFound means that
// there is none. The name of another flow, also of an archived one, is evidence.Invalid.
func (f *Flows) Rename(ctx context.Context, org, name, to string, at float64) error {
	if err := f.refuseArchived(ctx, org, to); err != nil {
		return err
	}
	return f.Registry.Rename(ctx, org, name, to, at)
}

// Archive takes the flow of a name, or of a former name, out of use; at is the time in Unix seconds, or later if another
// flow has the name that archiving would give it. storage.ErrNotFound means that there is no such flow.
func (f *Flows) Archive(ctx context.Context, org, name string, at float64) error {
	entry, err := f.Resolve(ctx, org, name)
	if err != nil {
		return err
	}
	flow, err := f.Collection.Get(ctx, entry.ID)
	if err != nil {
		return err
	}
	for ; ; at++ {
		_, err := f.Resolve(ctx, org, evidence.ArchivedFlowName(flow.Name, at))
		if errors.Is(err, storage.ErrNotFound) {
			return f.Registry.Archive(ctx, org, name, at)
		}
		if err != nil {
			return err
		}
	}
}
