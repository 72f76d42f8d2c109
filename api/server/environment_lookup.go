package server

import (
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/environments"
	"context"
	"errors"
	"fmt"
	"time"
)

// environmentNamed resolves a name, or answers in the contract's words.
func (b *Base) environmentNamed(ctx context.Context, org evidence.OrgAccess, name string) (environments.EnvironmentRef, error) {
	ref, err := b.store.Environments.Resolve(ctx, org.OrgID, name)
	return ref, environmentUnknown(org, name, err)
}

// environmentUnknown says in the contract's words that a name leads nowhere; other
// errors it leaves as they are.
func environmentUnknown(org evidence.OrgAccess, name string, err error) error {
	switch {
	case errors.Is(err, storage.ErrArchived):
		return evidence.NewError(evidence.NotFound,
			fmt.Sprintf("Environment named '%s' has been archived for organization '%s'", name, org.OrgName))
	case errors.Is(err, storage.ErrNotFound):
		return evidence.NewError(evidence.NotFound,
			fmt.Sprintf("Environment named '%s' does not exist for organization '%s'", name, org.OrgName))
	default:
		return err
	}
}

// environmentOf reads the environment of a name, which may be a former one, or answers
// in the contract's words: two commands, and up to three more for the members of a
// logical one.
func (b *Base) environmentOf(ctx context.Context, org evidence.OrgAccess, name string) (evidence.Environment, error) {
	ref, err := b.environmentNamed(ctx, org, name)
	if err != nil {
		return evidence.Environment{}, err
	}
	found, err := b.store.Environments.Get(ctx, ref.ID)
	if err != nil || !found.Logical() {
		return found, err
	}
	one := []evidence.Environment{found}
	err = b.store.Environments.FollowRevivals(ctx, org.OrgID, one)
	return one[0], err
}

// catchUpSpan bounds how long a reader waits for reports that are under way.
const catchUpSpan = 2 * time.Second

// EnvironmentPath is the path of an operation on an environment.
type EnvironmentPath struct {
	OrgPath
	Environment string `path:"env_name" doc:"Name of the environment."`
}
