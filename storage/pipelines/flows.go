package pipelines

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/evidence/template"
	"attestry/storage"
	"attestry/storage/names"
)

var flowSchema = storage.NewSchema("flows", storage.Index{Name: "created", Fields: []string{"org", "created"}}, archivedIndex)

// Flows keeps what is configured about flows.
type Flows struct {
	names.Registry[evidence.Flow]
	storage.Collection[evidence.Flow]
}

// NewFlows binds the repository to an engine.
func NewFlows(docs storage.Documents) *Flows {
	f := &Flows{Collection: storage.NewCollection(docs, flowSchema,
		func(f *evidence.Flow) string { return f.ID }, flowFields)}
	f.Registry = names.New(docs, names.Kind[evidence.Flow]{
		Name:   "flows",
		Noun:   "A flow",
		Things: f.Collection,
		Create: f.Collection.Insert,
		Describe: func(f *evidence.Flow) names.Description {
			return names.Description{Org: f.Org, ID: f.ID, Name: f.Name, Archived: f.Archived}
		},
		Rename: func(f *evidence.Flow, name string, at float64) {
			f.Name, f.LastModifiedAt = name, max(f.LastModifiedAt, at)
		},
		Archive: (*evidence.Flow).Archive,
	})
	return f
}

// flowFields keeps archived flows out of the lists.
func flowFields(f *evidence.Flow) map[string]any {
	if f.Archived {
		return map[string]any{"archived_org": f.Org, "archived_name": f.Name}
	}
	return map[string]any{"org": f.Org, "created": f.CreatedAt}
}

// Names returns an organization's flows by id, archived ones too, for names and links.
func (f *Flows) Names(ctx context.Context, org string, ids []string) (map[string]evidence.Flow, error) {
	found, err := f.Collection.GetMany(ctx, ids)
	found = slices.DeleteFunc(found, func(flow evidence.Flow) bool { return flow.Org != org })
	return evidence.ByKey(found, func(flow *evidence.Flow) string { return flow.ID }), err
}

// List returns all flows of an organization that are not archived, in the order they were made.
func (f *Flows) List(ctx context.Context, org string) ([]evidence.Flow, error) {
	return storage.FindAll(ctx, f.Collection, storage.Query{Index: "created", Equal: []any{org}, Limit: storage.Unlimited})
}

// Put stores a flow under its name, or applies it to the flow of that name. A former name is free, also that of an
// archived flow; the name that archiving gave a flow is evidence.Invalid. Without a template, a new flow gets the empty
// one, and an existing one keeps its own. It returns the stored flow and reports whether it is new.
func (f *Flows) Put(ctx context.Context, sent evidence.Flow) (created bool, flow evidence.Flow, err error) {
	if err := f.refuseArchived(ctx, sent.Org, sent.Name); err != nil {
		return false, sent, err
	}
	fresh := sent
	fresh.Template = cmp.Or(sent.Template, template.ID([]byte(template.Empty)))
	flow, created, err = f.Registry.Put(ctx, fresh, func(stored *evidence.Flow) error {
		if stored.Apply(sent) {
			stored.LastModifiedAt = max(stored.LastModifiedAt, sent.LastModifiedAt)
		}
		return nil
	})
	return created, flow, err
}

// Ensure returns the id of the flow of a name, made with the empty template if there is none. The name that archiving
// gave a flow is evidence.Invalid. at is the time in Unix seconds, by the name of the reporter.
func (f *Flows) Ensure(ctx context.Context, org, name, by string, at float64) (string, error) {
	for range names.Attempts {
		ref, err := f.Registry.Resolve(ctx, org, name)
		if !errors.Is(err, storage.ErrNotFound) {
			return ref.ID, err
		}
		if err := f.refuseArchived(ctx, org, name); err != nil {
			return "", err
		}
		fresh := evidence.Flow{
			ID: evidence.NewID(), Org: org, Name: name,
			Visibility: evidence.PrivateFlow, Template: template.ID([]byte(template.Empty)),
			CreatedAt: at, CreatedBy: by, LastModifiedAt: at,
		}
		err = f.Create(ctx, fresh)
		if !errors.Is(err, storage.ErrExists) {
			return fresh.ID, err
		}
	}
	return "", names.ErrBusy
}

// SetTags sets and removes tags of a flow; at is the time in Unix seconds.
func (f *Flows) SetTags(ctx context.Context, id string, set map[string]string, remove []string, at float64) error {
	_, err := f.Collection.Update(ctx, id, func(stored *evidence.Flow) error {
		return evidence.UpdateTags(&stored.Tags, &stored.LastModifiedAt, set, remove, at)
	})
	return err
}
