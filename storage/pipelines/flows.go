package pipelines

import (
	"cmp"
	"context"
	"errors"

	"attestry/evidence"
	"attestry/evidence/template"
	"attestry/storage"
	"attestry/storage/names"
)

var flowSchema = &storage.Schema{
	Name:    "flows",
	Fields:  []string{"org", "created"},
	Indexes: []storage.Index{{Name: "created", Fields: []string{"org", "created"}}},
}

// Flows keeps what is configured about flows.
type Flows struct {
	names      names.Names[evidence.Flow]
	collection storage.Collection[evidence.Flow]
}

// NewFlows binds the repository to an engine.
func NewFlows(docs storage.Documents) *Flows {
	f := &Flows{collection: storage.NewCollection(docs, flowSchema,
		func(f *evidence.Flow) string { return f.ID }, flowFields)}
	f.names = names.New(docs, names.Kind[evidence.Flow]{
		Name:   "flows",
		Noun:   "A flow",
		Things: f.collection,
		Create: f.collection.Insert,
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

// flowFields leaves archived flows out: they are in no list.
func flowFields(f *evidence.Flow) map[string]any {
	if f.Archived {
		return nil
	}
	return map[string]any{"org": f.Org, "created": f.CreatedAt}
}

// FlowRef is what a name alone tells of a flow.
type FlowRef struct {
	ID string
	// Name is the one that it was looked up by, which may be a former one.
	Name string
}

func flowRef(entry names.Entry) FlowRef { return FlowRef{ID: entry.Target, Name: entry.Name} }

// Resolve looks a flow up by its name, or by one that it had and no other flow has
// taken since: one command. ErrNotFound tells that the name is unknown or that of
// an archived flow.
func (f *Flows) Resolve(ctx context.Context, org, name string) (FlowRef, error) {
	entry, err := f.names.Resolve(ctx, org, name)
	if err != nil {
		return FlowRef{}, err
	}
	return flowRef(entry), nil
}

// ResolveMany is Resolve for several names: one command for all of them. Unknown
// names, and those of archived flows, are passed over; a flow that is named twice,
// by a former name too, comes twice.
func (f *Flows) ResolveMany(ctx context.Context, org string, names []string) ([]FlowRef, error) {
	entries, err := f.names.ResolveMany(ctx, org, names)
	if err != nil {
		return nil, err
	}
	refs := make([]FlowRef, 0, len(entries))
	for _, entry := range entries {
		refs = append(refs, flowRef(entry))
	}
	return refs, nil
}

// Get returns a flow by id, archived ones too, or ErrNotFound.
func (f *Flows) Get(ctx context.Context, id string) (evidence.Flow, error) {
	return f.collection.Get(ctx, id)
}

// GetMany returns flows by id, archived ones too, in the order of ids.
func (f *Flows) GetMany(ctx context.Context, ids []string) ([]evidence.Flow, error) {
	return f.collection.GetMany(ctx, ids)
}

// Names returns an organization's flows by id, archived ones too, for the names and
// links of what was recorded in them.
func (f *Flows) Names(ctx context.Context, org string, ids []string) (map[string]evidence.Flow, error) {
	found, err := f.collection.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	named := make(map[string]evidence.Flow, len(found))
	for _, flow := range found {
		if flow.Org == org {
			named[flow.ID] = flow
		}
	}
	return named, nil
}

// List returns all flows of an organization that are not archived, in the order
// they were made.
func (f *Flows) List(ctx context.Context, org string) ([]evidence.Flow, error) {
	return storage.FindAll(ctx, f.collection, storage.Query{Index: "created", Equal: []any{org}, Limit: storage.Unlimited})
}

// Put stores a flow under its name, or has it applied to the flow that has the name
// already. A name that is a former one, or that of an archived flow, is taken for
// the new one. Without a template, a new flow gets the empty one, and a flow that
// exists keeps its own. It returns the flow as stored and reports whether it is new.
func (f *Flows) Put(ctx context.Context, sent evidence.Flow) (created bool, flow evidence.Flow, err error) {
	fresh := sent
	fresh.Template = cmp.Or(sent.Template, template.ID([]byte(template.Empty)))
	flow, created, err = f.names.Put(ctx, fresh, func(stored *evidence.Flow) error {
		if stored.Apply(sent) {
			stored.LastModifiedAt = max(stored.LastModifiedAt, sent.LastModifiedAt)
		}
		return nil
	})
	return created, flow, err
}

// Ensure returns the flow of a name, and makes one with the empty template when
// there is none: at is the time in Unix seconds, by the name of whoever reports.
// It reports whether it made a new one.
func (f *Flows) Ensure(ctx context.Context, org, name, by string, at float64) (flow evidence.Flow, created bool, err error) {
	for range names.Attempts {
		ref, err := f.Resolve(ctx, org, name)
		if err == nil {
			flow, err := f.Get(ctx, ref.ID)
			return flow, false, err
		}
		if !errors.Is(err, storage.ErrNotFound) {
			return evidence.Flow{}, false, err
		}
		fresh := evidence.Flow{
			ID: evidence.NewID(), Org: org, Name: name,
			Visibility: evidence.PrivateFlow, Template: template.ID([]byte(template.Empty)),
			CreatedAt: at, CreatedBy: by, LastModifiedAt: at,
		}
		err = f.names.Create(ctx, fresh)
		if !errors.Is(err, storage.ErrExists) {
			return fresh, err == nil, err
		}
	}
	return evidence.Flow{}, false, names.ErrBusy
}

// Rename gives the flow of a name, or of a former name, another one; at is the time
// in Unix seconds. ErrNotFound tells that there is no such flow. A name that
// another flow has is evidence.Invalid.
func (f *Flows) Rename(ctx context.Context, org, from, to string, at float64) error {
	return f.names.Rename(ctx, org, from, to, at)
}

// Archive takes the flow of a name, or of a former name, out of use; at is the time
// in Unix seconds. What was recorded in it stays. ErrNotFound tells that there is
// no such flow.
func (f *Flows) Archive(ctx context.Context, org, name string, at float64) error {
	return f.names.Archive(ctx, org, name, at)
}

// SetTags sets and removes tags of a flow; at is the time in Unix seconds.
func (f *Flows) SetTags(ctx context.Context, id string, set map[string]string, remove []string, at float64) error {
	_, err := f.collection.Update(ctx, id, func(stored *evidence.Flow) error {
		return evidence.UpdateTags(&stored.Tags, &stored.LastModifiedAt, set, remove, at)
	})
	return err
}
