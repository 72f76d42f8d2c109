package notifications

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/storage"
)

var targetSchema = &storage.Schema{Name: "targets"}

// Targets keeps the states of the targets of actions.
type Targets struct {
	collection storage.Collection[notification.TargetState]
}

// NewTargets binds the repository to an engine.
func NewTargets(docs storage.Documents) *Targets {
	return &Targets{collection: storage.NewCollection(docs, targetSchema,
		func(s *notification.TargetState) string { return targetID(s.Org, s.Action, s.Target) }, nil)}
}

func targetID(org string, action int64, target string) string {
	return fmt.Sprintf("%s/%d/%s", org, action, target)
}

// States returns the states of the targets of actions of an organization, by action and target: one command per
// storage.MaxMany targets. A target without a delivery has none.
func (t *Targets) States(ctx context.Context, org string, actions ...notification.Action) (map[TargetKey]notification.TargetState, error) {
	var ids []string
	for i := range actions {
		for _, target := range actions[i].DistinctTargets() {
			ids = append(ids, targetID(org, actions[i].Number, target.ID()))
		}
	}
	found, err := t.collection.GetMany(ctx, ids)
	return evidence.ByKey(found, func(state *notification.TargetState) TargetKey { return TargetKey{state.Action, state.Target} }), err
}

// TargetKey names a target within its organization.
type TargetKey struct {
	Action int64  // number
	Target string // id
}

// Ensure returns the state of a target, made with a signing secret if there is none.
func (t *Targets) Ensure(ctx context.Context, org string, action int64, target string) (notification.TargetState, error) {
	return storage.Ensure(ctx, t.collection, newState(org, action, target))
}

func newState(org string, action int64, target string) notification.TargetState {
	return notification.TargetState{Org: org, Action: action, Target: target, Secret: newSecret()}
}

// Update changes the state of a target, made if there is none, and returns it. change may run more than once.
func (t *Targets) Update(ctx context.Context, org string, action int64, target string, change func(*notification.TargetState)) (notification.TargetState, error) {
	return storage.Upsert(ctx, t.collection, newState(org, action, target), storage.WithoutError(change))
}

// SwitchOn resumes the targets of an action that were switched off or requested a pause: one command per
// storage.MaxMany targets, and two for each that it resumes.
func (t *Targets) SwitchOn(ctx context.Context, org string, action notification.Action) error {
	states, err := t.States(ctx, org, action)
	if err != nil {
		return err
	}
	for key, state := range states {
		if state.SwitchedOffAt == 0 && state.QuietUntil == 0 {
			continue
		}
		if _, err := t.Update(ctx, org, key.Action, key.Target, (*notification.TargetState).SwitchOn); err != nil {
			return err
		}
	}
	return nil
}

// UpdateKnown is Update for a target that may have been removed: then it does nothing.
func (t *Targets) UpdateKnown(ctx context.Context, org string, action int64, target string, change func(*notification.TargetState)) error {
	_, err := t.collection.Update(ctx, targetID(org, action, target), storage.WithoutError(change))
	return storage.IgnoreMissing(err)
}

// RotateSecret gives a target a new signing secret and returns it. The former one, if any, signs beside it for
// notification.RotationGrace. now is in Unix seconds.
func (t *Targets) RotateSecret(ctx context.Context, org string, action int64, target string, now float64) (string, error) {
	fresh := newState(org, action, target)
	_, err := storage.Upsert(ctx, t.collection, fresh, storage.WithoutError(func(known *notification.TargetState) {
		if known.Secret != fresh.Secret {
			known.Rotate(fresh.Secret, now)
		}
	}))
	return fresh.Secret, err
}

// Remove deletes the states of targets of an action.
func (t *Targets) Remove(ctx context.Context, org string, action int64, targets ...notification.Target) error {
	return t.collection.Delete(ctx, evidence.Map(targets, func(target notification.Target) string { return targetID(org, action, target.ID()) })...)
}

const (
	// secretPrefix begins the signing secrets of Standard Webhooks.
	secretPrefix = "whsec_"
	// secretSize is how many random bytes a secret has; Standard Webhooks asks for 24 to 64.
	secretSize = 32
)

// newSecret makes a signing secret as Standard Webhooks writes it.
func newSecret() string {
	secret := make([]byte, secretSize)
	rand.Read(secret)
	return secretPrefix + base64.StdEncoding.EncodeToString(secret)
}
