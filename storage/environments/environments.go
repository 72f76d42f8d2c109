package environments

import (
	"context"
	"maps"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/names"
)

var environmentSchema = storage.NewSchema("environments",
	storage.Index{Name: "created", Fields: []string{"org", "created"}},
	// Only logical environments have this field, their organization, and included, the ids of their members.
	storage.Index{Name: "logical", Fields: []string{"logical"}, Required: "logical"}).With("included")

// Environments keeps what is configured about environments.
type Environments struct {
	names.Registry[evidence.Environment]
	storage.Collection[evidence.Environment]
	heads *Heads
}

// New binds the repository to an engine.
func New(docs storage.Documents, heads *Heads) *Environments {
	e := &Environments{heads: heads, Collection: storage.NewCollection(docs, environmentSchema,
		func(e *evidence.Environment) string { return e.ID }, environmentFields)}
	e.Registry = names.New(docs, names.Kind[evidence.Environment]{
		Name:   "environments",
		Noun:   "An environment",
		Things: e.Collection,
		Create: e.create,
		Describe: func(e *evidence.Environment) names.Description {
			return names.Description{Org: e.Org, ID: e.ID, Name: e.Name, Detail: string(e.Type), Archived: e.Archived}
		},
		Rename:  (*evidence.Environment).Rename,
		Archive: (*evidence.Environment).Archive,
	})
	return e
}

// environmentFields leaves out archived environments, which are in no list.
func environmentFields(e *evidence.Environment) map[string]any {
	if e.Archived {
		return nil
	}
	fields := map[string]any{"org": e.Org, "created": e.CreatedAt}
	if e.Logical() {
		fields["logical"], fields["included"] = e.Org, strings.Join(e.Included, " ")
	}
	return fields
}

// EnvironmentRef is the part of an environment that the entry of its name has.
type EnvironmentRef struct {
	ID   string
	Type evidence.EnvironmentType
}

// Resolve returns the environment of a name, or of a former name that no other one has taken: one command. ErrNotFound
// means that the name is unknown, ErrArchived that its environment is archived.
func (e *Environments) Resolve(ctx context.Context, org, name string) (EnvironmentRef, error) {
	entry, err := e.Registry.Resolve(ctx, org, name)
	return environmentRef(entry), err
}

// ResolveMany is Resolve for several names: one command for all. Unknown and archived names are left out.
func (e *Environments) ResolveMany(ctx context.Context, org string, wanted []string) (map[string]EnvironmentRef, error) {
	entries, err := e.Registry.ResolveMany(ctx, org, wanted)
	return evidence.ToMap(entries, func(n *names.Entry) (string, EnvironmentRef) { return n.Name, environmentRef(*n) }), err
}

func environmentRef(entry names.Entry) EnvironmentRef {
	return EnvironmentRef{ID: entry.ID, Type: evidence.EnvironmentType(entry.Detail)}
}

// Names returns an organization's environments by id, archived ones too, for names and links.
func (e *Environments) Names(ctx context.Context, org string, ids []string) (map[string]evidence.Environment, error) {
	found, err := e.Collection.GetMany(ctx, ids)
	found = slices.DeleteFunc(found, func(environment evidence.Environment) bool { return environment.Org != org })
	return evidence.ByKey(found, func(environment *evidence.Environment) string { return environment.ID }), err
}

// ActiveNames returns the names of environments of an organization by id, without archived ones.
func (e *Environments) ActiveNames(ctx context.Context, org string, ids []string) (map[string]string, error) {
	found, err := e.Names(ctx, org, ids)
	names := map[string]string{}
	for id, environment := range found {
		if !environment.Archived {
			names[id] = environment.Name
		}
	}
	return names, err
}

// ReplaceArchivedMembers replaces archived members of logical environments by the physical environments that now have
// their names, and sets the active members. It stores nothing: one command, and one more if a member is archived.
func (e *Environments) ReplaceArchivedMembers(ctx context.Context, org string, environments []evidence.Environment) error {
	ids := slices.Concat(evidence.Map(environments, func(one evidence.Environment) []string { return one.Included })...)
	members, err := e.Collection.GetMany(ctx, evidence.Distinct(ids))
	if err != nil {
		return err
	}
	former := map[string]string{} // names by id
	for i := range members {
		if members[i].Archived {
			former[members[i].ID] = members[i].Name
		}
	}
	successors, err := e.successors(ctx, org, former)
	if err != nil {
		return err
	}
	for i := range environments {
		if len(successors) > 0 {
			environments[i].FollowMembers(successors)
		}
		environments[i].Active = slices.DeleteFunc(evidence.Distinct(environments[i].Included), func(id string) bool {
			_, archived := former[id]
			return archived
		})
	}
	return nil
}

// successors finds the physical environments that have the names of archived ones, both by id.
func (e *Environments) successors(ctx context.Context, org string, archived map[string]string) (map[string]string, error) {
	if len(archived) == 0 {
		return nil, nil
	}
	revived, err := e.ResolveMany(ctx, org, evidence.Distinct(slices.Collect(maps.Values(archived))))
	if err != nil {
		return nil, err
	}
	successors := map[string]string{}
	for id, name := range archived {
		if ref, ok := revived[name]; ok && ref.Type != evidence.LogicalType {
			successors[id] = ref.ID
		}
	}
	return successors, nil
}

// Put stores fresh under its name, or changes the environment of that name, and reports whether it made a new one. A
// former name, or that of an archived environment, is free. Another type than the environment has is Invalid.
func (e *Environments) Put(ctx context.Context, fresh evidence.Environment, change evidence.EnvironmentChange) (created bool, err error) {
	_, created, err = e.Registry.Put(ctx, fresh, func(stored *evidence.Environment) error {
		if stored.Type != fresh.Type {
			return evidence.FieldError("type",
				"The type of environment '%s' is '%s' and cannot be changed [input: %s]", fresh.Name, stored.Type, fresh.Type)
		}
		if stored.Apply(change) {
			stored.LastModifiedAt = max(stored.LastModifiedAt, fresh.LastModifiedAt)
		}
		return nil
	})
	return created, err
}

// Modify changes an environment; at is the time in Unix seconds. change reports whether it did. ErrArchived means that
// it was archived meanwhile.
func (e *Environments) Modify(ctx context.Context, id string, at float64, change func(*evidence.Environment) (bool, error)) error {
	_, err := e.Collection.Update(ctx, id, func(stored *evidence.Environment) error {
		if stored.Archived {
			return storage.ErrArchived
		}
		changed, err := change(stored)
		if changed {
			stored.LastModifiedAt = max(stored.LastModifiedAt, at)
		}
		return err
	})
	return err
}

// SetAdmissionIn sets the admission settings of an environment with a batch; at is the time in Unix seconds. It returns
// a description of the change, "" if nothing changes. ErrArchived means that it was archived meanwhile.
func (e *Environments) SetAdmissionIn(ctx context.Context, batch *storage.Batch, id string, next evidence.AdmissionSettings, at float64) (string, error) {
	stored, err := e.Collection.GetVersioned(ctx, id)
	if err != nil {
		return "", err
	}
	environment := stored.Value
	if environment.Archived {
		return "", storage.ErrArchived
	}
	before := environment.AdmissionOf()
	changes := before.Changes(&next)
	if changes == "" {
		return "", nil
	}
	environment.Admission, environment.LastModifiedAt = &next, max(environment.LastModifiedAt, at)
	e.Collection.StoreIn(batch, &environment, stored.Revision)
	return environment.Name + ": " + changes, nil
}

func (e *Environments) create(ctx context.Context, fresh evidence.Environment) error {
	// A head that exists stays.
	if err := e.heads.Add(ctx, snapshot.Head{Org: fresh.Org, Environment: fresh.ID}); err != nil {
		return err
	}
	return e.Collection.Insert(ctx, fresh)
}

// SetTags sets and removes tags of an environment; at is the time in Unix seconds.
func (e *Environments) SetTags(ctx context.Context, id string, set map[string]string, remove []string, at float64) error {
	_, err := e.Collection.Update(ctx, id, func(stored *evidence.Environment) error {
		return evidence.UpdateTags(&stored.Tags, &stored.LastModifiedAt, set, remove, at)
	})
	return err
}

// List returns all environments of an organization that are not archived, in the order they were made.
func (e *Environments) List(ctx context.Context, org string) ([]evidence.Environment, error) {
	return storage.FindAll(ctx, e.Collection, storage.Query{Index: "created", Equal: []any{org}, Limit: storage.Unlimited})
}

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
	found, err := e.Collection.GetMany(ctx, evidence.Distinct(members))
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
	return storage.ForEachFields(ctx, e.Collection, query, func(record *storage.Record) error {
		yield(record.ID, strings.Fields(record.Text("included")))
		return nil
	})
}

// Membership reads an environment with its active members. It stores the successors of archived members, so that
// Including then finds the environment by its successors.
func (e *Environments) Membership(ctx context.Context, id string) (evidence.Environment, error) {
	for range names.Attempts {
		stored, err := e.Collection.Get(ctx, id)
		if err != nil || stored.Archived || !stored.Logical() {
			return stored, err
		}
		followed := []evidence.Environment{stored}
		if err := e.ReplaceArchivedMembers(ctx, stored.Org, followed); err != nil {
			return stored, err
		}
		if slices.Equal(followed[0].Included, stored.Included) {
			return followed[0], nil
		}
		_, err = e.Collection.Update(ctx, id, func(current *evidence.Environment) error {
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
