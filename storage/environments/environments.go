package environments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/names"
)

var environmentSchema = &storage.Schema{
	Name:   "environments",
	Fields: []string{"org", "created", "logical", "included"},
	Indexes: []storage.Index{
		{Name: "created", Fields: []string{"org", "created"}},
		// Only logical environments have this field, which is their organization, and
		// included, which is the ids of their members.
		{Name: "logical", Fields: []string{"logical"}},
	},
}

const kindEnvironment = "environments"

// Environments keeps what is configured about environments.
type Environments struct {
	names      *names.Names
	collection *storage.Collection[evidence.Environment]
	heads      *Heads
}

// NewEnvironments binds the repository to an engine.
func NewEnvironments(docs storage.Documents, known *names.Names, heads *Heads) *Environments {
	environments := &Environments{
		names: known,
		heads: heads,
		collection: storage.NewCollection(docs, environmentSchema,
			func(e *evidence.Environment) string { return e.ID },
			// Archived environments are in no list.
			func(e *evidence.Environment) map[string]any {
				if e.Archived {
					return nil
				}
				fields := map[string]any{"org": e.Org, "created": e.CreatedAt}
				if e.Logical() {
					fields["logical"], fields["included"] = e.Org, strings.Join(e.Included, " ")
				}
				return fields
			}),
	}
	known.Register(kindEnvironment, environments)
	return environments
}

// EnvironmentRef is what a name alone tells of an environment.
type EnvironmentRef struct {
	ID   string
	Type evidence.EnvironmentType
}

// Resolve looks an environment up by its name, or by one that it had and no other
// environment has taken since: one command. ErrNotFound tells that the name is
// unknown, ErrArchived that it is that of an archived environment.
func (e *Environments) Resolve(ctx context.Context, org, name string) (EnvironmentRef, error) {
	entry, err := e.names.Resolve(ctx, org, kindEnvironment, name, e.create)
	if err != nil {
		return EnvironmentRef{}, err
	}
	return environmentRef(entry), nil
}

// ResolveMany is Resolve for several names: one command for all of them. Unknown
// names, and those of archived environments, are not in the answer.
func (e *Environments) ResolveMany(ctx context.Context, org string, wanted []string) (map[string]EnvironmentRef, error) {
	entries, err := e.names.ResolveMany(ctx, org, kindEnvironment, wanted, e.create)
	refs := make(map[string]EnvironmentRef, len(entries))
	for _, entry := range entries {
		refs[entry.Name] = environmentRef(entry)
	}
	return refs, err
}

func environmentRef(entry names.Entry) EnvironmentRef {
	return EnvironmentRef{ID: entry.Target, Type: evidence.EnvironmentType(entry.Detail)}
}

// Get returns an environment by id, an archived one too, or ErrNotFound.
func (e *Environments) Get(ctx context.Context, id string) (evidence.Environment, error) {
	return e.collection.Get(ctx, id)
}

// GetMany returns environments by id, archived ones too, in the order of ids.
func (e *Environments) GetMany(ctx context.Context, ids []string) ([]evidence.Environment, error) {
	return e.collection.GetMany(ctx, ids)
}

// Names returns an organization's environments by id, archived ones too, for the
// names and links of what was recorded in them.
func (e *Environments) Names(ctx context.Context, org string, ids []string) (map[string]evidence.Environment, error) {
	found, err := e.collection.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	named := make(map[string]evidence.Environment, len(found))
	for _, environment := range found {
		if environment.Org == org {
			named[environment.ID] = environment
		}
	}
	return named, nil
}

// FollowRevivals lets logical environments include, instead of members that were
// archived, the physical environments that live under their names by now, and sets
// their active members. It changes what is given, not what is stored: one command, and
// one more where a member is archived.
func (e *Environments) FollowRevivals(ctx context.Context, org string, environments []evidence.Environment) error {
	var ids []string
	for i := range environments {
		ids = append(ids, environments[i].Included...)
	}
	members, err := e.collection.GetMany(ctx, storage.Distinct(ids))
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
		environments[i].Active = slices.DeleteFunc(slices.Clone(environments[i].Included), func(id string) bool {
			_, archived := former[id]
			return archived
		})
	}
	return nil
}

// successors finds the physical environments that have the names of archived ones, both
// by id.
func (e *Environments) successors(ctx context.Context, org string, archived map[string]string) (map[string]string, error) {
	if len(archived) == 0 {
		return nil, nil
	}
	revived, err := e.ResolveMany(ctx, org, storage.Distinct(slices.Collect(maps.Values(archived))))
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

// Put stores fresh under its name, or changes the environment that has the name
// already. A name that is a former one, or that of an archived environment, is taken
// for the new one. It tells whether it made a new one. Another type than the
// environment has is Invalid.
func (e *Environments) Put(ctx context.Context, fresh evidence.Environment, change evidence.EnvironmentChange) (created bool, err error) {
	entity, err := json.Marshal(fresh)
	if err != nil {
		return false, err
	}
	entry := names.Entry{
		Org: fresh.Org, Kind: kindEnvironment, Name: fresh.Name,
		Target: fresh.ID, Detail: string(fresh.Type), Entity: entity,
	}
	return e.names.Put(ctx, entry, e.create, func(target string) error {
		return e.apply(ctx, target, fresh, change)
	})
}

// apply changes an environment that has the name of fresh; errNotNamed tells that it
// does not have it any more.
func (e *Environments) apply(ctx context.Context, id string, fresh evidence.Environment, change evidence.EnvironmentChange) error {
	_, err := e.collection.Update(ctx, id, func(stored *evidence.Environment) error {
		if stored.Archived || stored.Name != fresh.Name {
			return names.ErrNotNamed
		}
		if stored.Type != fresh.Type {
			return evidence.ValidationError(map[string]string{"type": fmt.Sprintf(
				"The type of environment '%s' is '%s' and cannot be changed [input: %s]", fresh.Name, stored.Type, fresh.Type)})
		}
		if stored.Apply(change) {
			stored.LastModifiedAt = max(stored.LastModifiedAt, fresh.LastModifiedAt)
		}
		return nil
	})
	return err
}

// Change changes what is sent of an environment; at is the time in Unix seconds.
// ErrArchived tells that it was archived meanwhile.
func (e *Environments) Change(ctx context.Context, id string, change evidence.EnvironmentChange, at float64) error {
	return e.modify(ctx, id, at, func(stored *evidence.Environment) (bool, error) {
		return stored.Apply(change), nil
	})
}

// Join adds a member, by its id, to a logical environment; at is the time in Unix
// seconds. Joining again changes nothing. ErrArchived tells that the logical
// environment was archived meanwhile.
func (e *Environments) Join(ctx context.Context, id, member string, at float64) error {
	return e.modify(ctx, id, at, func(stored *evidence.Environment) (bool, error) {
		return stored.Join(member)
	})
}

// modify changes an environment that is not archived. change tells whether it did.
func (e *Environments) modify(ctx context.Context, id string, at float64, change func(*evidence.Environment) (bool, error)) error {
	_, err := e.collection.Update(ctx, id, func(stored *evidence.Environment) error {
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

// Rename gives the environment of a name, or of a former name, another one; at is
// the time in Unix seconds. ErrNotFound tells that there is no such environment,
// ErrArchived that it is archived. A name that another environment has is
// evidence.Invalid.
func (e *Environments) Rename(ctx context.Context, org, from, to string, at float64) error {
	entry, err := e.names.Resolve(ctx, org, kindEnvironment, from, e.create)
	if err != nil {
		return err
	}
	err = e.names.Rename(ctx, entry, to, at, e.create)
	if errors.Is(err, names.ErrTaken) {
		// Not a conflict, as clients try those again.
		return evidence.ValidationError(map[string]string{
			"new_name": fmt.Sprintf("An environment with this name already exists [input: %s]", to),
		})
	}
	return err
}

// Archive takes the environment of a name, or of a former name, out of use; at is
// the time in Unix seconds. What was recorded in it stays. ErrNotFound tells that
// there is no such environment, ErrArchived that it is archived already.
func (e *Environments) Archive(ctx context.Context, org, name string, at float64) error {
	entry, err := e.names.Resolve(ctx, org, kindEnvironment, name, e.create)
	if err != nil {
		return err
	}
	return e.names.Archive(ctx, entry, at, e.create)
}

// create stores a new environment and its head; it can be repeated.
func (e *Environments) create(ctx context.Context, entity json.RawMessage) error {
	var fresh evidence.Environment
	if err := json.Unmarshal(entity, &fresh); err != nil {
		return fmt.Errorf("decode an environment that is being created: %w", err)
	}
	if err := e.heads.insert(ctx, snapshot.Head{Org: fresh.Org, Environment: fresh.ID}); err != nil {
		return err
	}
	return e.collection.Insert(ctx, fresh)
}

// SetTags sets and removes tags of an environment; at is the time in Unix seconds.
func (e *Environments) SetTags(ctx context.Context, id string, set map[string]string, remove []string, at float64) error {
	_, err := e.collection.Update(ctx, id, func(stored *evidence.Environment) error {
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

// List returns all environments of an organization that are not archived, in the
// order they were made.
func (e *Environments) List(ctx context.Context, org string) ([]evidence.Environment, error) {
	var all []evidence.Environment
	query := storage.Query{Index: "created", Equal: []any{org}, Limit: storage.MaxMany}
	err := storage.ForEach(ctx, e.collection, query, func(environment *evidence.Environment) error {
		all = append(all, *environment)
		return nil
	})
	return all, err
}

// CurrentName is part of Renamable.
func (e *Environments) CurrentName(ctx context.Context, id string) (string, int64, error) {
	environment, err := e.collection.GetVersioned(ctx, id)
	if err == nil && environment.Value.Archived {
		err = storage.ErrArchived
	}
	if err != nil {
		return "", 0, err
	}
	return environment.Value.Name, environment.Revision, nil
}

// SetName is part of Renamable.
func (e *Environments) SetName(ctx context.Context, id string, revision int64, to string, at float64) error {
	environment, err := e.collection.Get(ctx, id)
	if err != nil {
		return err
	}
	environment.Name, environment.LastModifiedAt = to, max(environment.LastModifiedAt, at)
	_, err = e.collection.Replace(ctx, environment, revision)
	return err
}

// MarkArchived is part of Renamable.
func (e *Environments) MarkArchived(ctx context.Context, id string, at float64) error {
	_, err := e.collection.Update(ctx, id, func(environment *evidence.Environment) error {
		environment.Archive(at)
		return nil
	})
	return err
}
