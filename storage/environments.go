package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"attestry/evidence"
	"attestry/evidence/snapshot"
)

var environmentSchema = &Schema{
	Name:    "environments",
	Fields:  []string{"org", "created"},
	Indexes: []Index{{Name: "created", Fields: []string{"org", "created"}}},
}

// claimAttempts bounds how often a claimed name is looked at again: twice is
// enough unless names come and go at the same time.
const claimAttempts = 5

// Environments keeps what is configured about environments.
type Environments struct {
	names      *names
	collection *Collection[evidence.Environment]
	heads      *Heads
}

func newEnvironments(docs Documents, names *names, heads *Heads) *Environments {
	return &Environments{
		names: names,
		heads: heads,
		collection: NewCollection(docs, environmentSchema,
			func(e *evidence.Environment) string { return e.ID },
			func(e *evidence.Environment) map[string]any {
				return map[string]any{"org": e.Org, "created": e.CreatedAt}
			}),
	}
}

// EnvironmentRef is what a name alone tells of an environment.
type EnvironmentRef struct {
	ID   string
	Type evidence.EnvironmentType
}

// Resolve looks an environment up by name: one command. An unknown name is
// ErrNotFound.
func (e *Environments) Resolve(ctx context.Context, org, name string) (EnvironmentRef, error) {
	entry, err := e.names.resolve(ctx, org, kindEnvironment, name, e.create)
	if err != nil {
		return EnvironmentRef{}, err
	}
	return EnvironmentRef{ID: entry.Target, Type: evidence.EnvironmentType(entry.Detail)}, nil
}

// GetMany returns environments by id, in the order of ids.
func (e *Environments) GetMany(ctx context.Context, ids []string) ([]evidence.Environment, error) {
	return e.collection.GetMany(ctx, ids)
}

// Put stores fresh under its name, or changes the environment that has the name
// already. It tells whether it made a new one.
func (e *Environments) Put(ctx context.Context, fresh evidence.Environment, change evidence.EnvironmentChange) (created bool, err error) {
	for range claimAttempts {
		ref, err := e.Resolve(ctx, fresh.Org, fresh.Name)
		if err == nil {
			return false, e.patch(ctx, ref, fresh, change)
		}
		if !errors.Is(err, ErrNotFound) {
			return false, err
		}
		err = e.claim(ctx, fresh)
		if !errors.Is(err, ErrExists) {
			return err == nil, err
		}
	}
	return false, evidence.NewError(evidence.Conflict, fmt.Sprintf(
		"Environment named '%s' is being changed by another request, please try again", fresh.Name))
}

func (e *Environments) claim(ctx context.Context, fresh evidence.Environment) error {
	entity, err := json.Marshal(fresh)
	if err != nil {
		return err
	}
	return e.names.claim(ctx, name{
		Org: fresh.Org, Kind: kindEnvironment, Name: fresh.Name,
		Target: fresh.ID, Detail: string(fresh.Type), Entity: entity,
	}, e.create)
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

func (e *Environments) patch(ctx context.Context, ref EnvironmentRef, fresh evidence.Environment, change evidence.EnvironmentChange) error {
	if ref.Type != fresh.Type {
		return evidence.ValidationError(map[string]string{"type": fmt.Sprintf(
			"The type of environment '%s' is '%s' and cannot be changed [input: %s]", fresh.Name, ref.Type, fresh.Type)})
	}
	_, err := e.collection.Update(ctx, ref.ID, func(stored *evidence.Environment) error {
		if stored.Apply(change) {
			stored.LastModifiedAt = fresh.LastModifiedAt
		}
		return nil
	})
	return err
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

// List returns all environments of an organization in the order they were made.
func (e *Environments) List(ctx context.Context, org string) ([]evidence.Environment, error) {
	var all []evidence.Environment
	query := Query{Index: "created", Equal: []any{org}, Limit: MaxMany}
	for {
		page, next, err := e.collection.Find(ctx, query)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		query.After = next
	}
}
