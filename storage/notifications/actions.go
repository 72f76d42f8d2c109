package notifications

import (
	"context"
	"time"

	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/storage"
	"attestry/storage/cache"
)

var actionSchema = &storage.Schema{Name: "actions"}

const (
	// actionsAge is how long the actions of an organization are cached for events of trails. It bounds the time until
	// another process uses a new action.
	actionsAge = 500 * time.Millisecond
	// maxCached bounds how many organizations have their actions in memory.
	maxCached = 10_000
)

// Actions keeps the actions of organizations: one document for each, so that names and numbers are unique, and one
// command reads all actions that may fire on an event.
type Actions struct {
	collection storage.Collection[notification.Actions]
	cached     cache.TTL[*notification.Actions]
	clock      evidence.Clock
}

// NewActions binds the repository to an engine and a clock.
func NewActions(docs storage.Documents, clock evidence.Clock) *Actions {
	return &Actions{
		clock:  clock,
		cached: cache.NewTTL[*notification.Actions](actionsAge, maxCached),
		collection: storage.NewCollection(docs, actionSchema,
			func(a *notification.Actions) string { return a.Org }, nil),
	}
}

// Of returns all actions of an organization, by its id.
func (a *Actions) Of(ctx context.Context, org string) (notification.Actions, error) {
	stored, err := a.collection.GetOrZero(ctx, org)
	return stored.Value, err
}

// Recent returns all actions of an organization. Changes by another process may be missing for actionsAge. The result
// must not be altered.
func (a *Actions) Recent(ctx context.Context, org string) (*notification.Actions, error) {
	return a.cached.Load(org, a.clock(), func() (*notification.Actions, error) {
		read, err := a.Of(ctx, org)
		return &read, err
	})
}

// Change changes the actions of an organization and returns them. change may run more than once.
func (a *Actions) Change(ctx context.Context, org evidence.OrgAccess, change func(*notification.Actions) error) (notification.Actions, error) {
	defer a.cached.Clear()
	return storage.Upsert(ctx, a.collection, notification.Actions{Org: org.OrgID, OrgName: org.OrgName}, change)
}
