package pipelines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"attestry/evidence"
	"attestry/evidence/template"
	"attestry/storage"
	"attestry/storage/names"
)

const kindFlow = "flows"

var flowSchema = &storage.Schema{
	Name:    "flows",
	Fields:  []string{"org", "created"},
	Indexes: []storage.Index{{Name: "created", Fields: []string{"org", "created"}}},
}

// Flows keeps what is configured about flows.
type Flows struct {
	names      *names.Names
	collection *storage.Collection[evidence.Flow]
}

// NewFlows binds the repository to an engine.
func NewFlows(docs storage.Documents, known *names.Names) *Flows {
	flows := &Flows{
		names: known,
		collection: storage.NewCollection(docs, flowSchema,
			func(f *evidence.Flow) string { return f.ID },
			// Archived flows are in no list.
			func(f *evidence.Flow) map[string]any {
				if f.Archived {
					return nil
				}
				return map[string]any{"org": f.Org, "created": f.CreatedAt}
			}),
	}
	known.Register(kindFlow, flows)
	return flows
}

// FlowRef is what a name alone tells of a flow.
type FlowRef struct {
	ID string
}

// Resolve looks a flow up by its name, or by one that it had and no other flow has
// taken since: one command. ErrNotFound tells that the name is unknown or that of
// an archived flow.
func (f *Flows) Resolve(ctx context.Context, org, name string) (FlowRef, error) {
	entry, err := f.names.Resolve(ctx, org, kindFlow, name, f.create)
	if err != nil {
		return FlowRef{}, err
	}
	return FlowRef{ID: entry.Target}, nil
}

// ResolveMany is Resolve for several names: one command for all of them. Unknown
// names, and those of archived flows, are passed over; a flow that is named twice,
// by a former name too, comes twice.
func (f *Flows) ResolveMany(ctx context.Context, org string, wanted []string) ([]FlowRef, error) {
	entries, err := f.names.ResolveMany(ctx, org, kindFlow, wanted, f.create)
	if err != nil {
		return nil, err
	}
	refs := make([]FlowRef, 0, len(entries))
	for _, entry := range entries {
		refs = append(refs, FlowRef{ID: entry.Target})
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
	var all []evidence.Flow
	query := storage.Query{Index: "created", Equal: []any{org}, Limit: storage.MaxMany}
	err := storage.ForEach(ctx, f.collection, query, func(flow *evidence.Flow) error {
		all = append(all, *flow)
		return nil
	})
	return all, err
}

// Put stores fresh under its name, or has it applied to the flow that has the name
// already. A name that is a former one, or that of an archived flow, is taken for
// the new one. Without a template, a new flow gets the empty one, and a flow that
// exists keeps its own. It returns the flow as stored and tells whether it is new.
func (f *Flows) Put(ctx context.Context, fresh evidence.Flow) (created bool, flow evidence.Flow, err error) {
	flow = fresh
	flow.Template = cmp.Or(fresh.Template, template.ID([]byte(template.Empty)))
	entry, err := flowEntry(flow)
	if err != nil {
		return false, evidence.Flow{}, err
	}
	created, err = f.names.Put(ctx, entry, f.create, func(target string) error {
		applied, err := f.apply(ctx, target, fresh)
		if err == nil {
			flow = applied
		}
		return err
	})
	return created, flow, err
}

// apply changes a flow that has the name of fresh; errNotNamed tells that it does not
// have it any more.
func (f *Flows) apply(ctx context.Context, id string, fresh evidence.Flow) (evidence.Flow, error) {
	return f.collection.Update(ctx, id, func(stored *evidence.Flow) error {
		if stored.Archived || stored.Name != fresh.Name {
			return names.ErrNotNamed
		}
		if stored.Apply(fresh) {
			stored.LastModifiedAt = max(stored.LastModifiedAt, fresh.LastModifiedAt)
		}
		return nil
	})
}

// Ensure returns the flow of a name, and makes one with the empty template when
// there is none: at is the time in Unix seconds, by the name of whoever reports.
// It tells whether it made a new one.
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
		err = f.claim(ctx, fresh)
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
	entry, err := f.names.Resolve(ctx, org, kindFlow, from, f.create)
	if err != nil {
		return err
	}
	err = f.names.Rename(ctx, entry, to, at, f.create)
	if errors.Is(err, names.ErrTaken) {
		// Not a conflict, as clients try those again.
		return evidence.ValidationError(map[string]string{
			"new_name": fmt.Sprintf("A flow with this name already exists [input: %s]", to),
		})
	}
	return err
}

// Archive takes the flow of a name, or of a former name, out of use; at is the time
// in Unix seconds. What was recorded in it stays. ErrNotFound tells that there is
// no such flow.
func (f *Flows) Archive(ctx context.Context, org, name string, at float64) error {
	entry, err := f.names.Resolve(ctx, org, kindFlow, name, f.create)
	if err != nil {
		return err
	}
	return f.names.Archive(ctx, entry, at, f.create)
}

// SetTags sets and removes tags of a flow; at is the time in Unix seconds.
func (f *Flows) SetTags(ctx context.Context, id string, set map[string]string, remove []string, at float64) error {
	_, err := f.collection.Update(ctx, id, func(stored *evidence.Flow) error {
		tags, err := evidence.ChangeTags(stored.Tags, set, remove)
		if err != nil {
			return err
		}
		if !maps.Equal(tags, stored.Tags) {
			stored.Tags = tags
			stored.LastModifiedAt = max(stored.LastModifiedAt, at)
		}
		return nil
	})
	return err
}

func (f *Flows) claim(ctx context.Context, fresh evidence.Flow) error {
	entry, err := flowEntry(fresh)
	if err != nil {
		return err
	}
	return f.names.Claim(ctx, entry, f.create)
}

func flowEntry(fresh evidence.Flow) (names.Entry, error) {
	entity, err := json.Marshal(fresh)
	return names.Entry{Org: fresh.Org, Kind: kindFlow, Name: fresh.Name, Target: fresh.ID, Entity: entity}, err
}

// create stores a new flow; it can be repeated.
func (f *Flows) create(ctx context.Context, entity json.RawMessage) error {
	var fresh evidence.Flow
	if err := json.Unmarshal(entity, &fresh); err != nil {
		return fmt.Errorf("decode a flow that is being created: %w", err)
	}
	return f.collection.Insert(ctx, fresh)
}

// CurrentName is part of Renamable.
func (f *Flows) CurrentName(ctx context.Context, id string) (string, int64, error) {
	flow, err := f.collection.GetVersioned(ctx, id)
	if err == nil && flow.Value.Archived {
		err = storage.ErrArchived
	}
	if err != nil {
		return "", 0, err
	}
	return flow.Value.Name, flow.Revision, nil
}

// SetName is part of Renamable.
func (f *Flows) SetName(ctx context.Context, id string, revision int64, to string, at float64) error {
	flow, err := f.collection.Get(ctx, id)
	if err != nil {
		return err
	}
	flow.Name, flow.LastModifiedAt = to, max(flow.LastModifiedAt, at)
	_, err = f.collection.Replace(ctx, flow, revision)
	return err
}

// MarkArchived is part of Renamable.
func (f *Flows) MarkArchived(ctx context.Context, id string, at float64) error {
	_, err := f.collection.Update(ctx, id, func(flow *evidence.Flow) error {
		flow.Archive(at)
		return nil
	})
	return err
}
