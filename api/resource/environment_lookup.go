package resource

import (
	"context"
	"errors"
	"fmt"
	"time"

	"attestry/api/server"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/environments"
)

// ResolveEnvironment resolves a name, or answers in the contract's words.
func (b *Base) ResolveEnvironment(ctx context.Context, org evidence.OrgAccess, name string) (environments.EnvironmentRef, error) {
	ref, err := b.Environments.Resolve(ctx, org.OrgID, name)
	return ref, EnvironmentNotFound(org, name, err)
}

// EnvironmentNotFound says in the contract's words that a name leads nowhere; other
// errors it leaves as they are.
func EnvironmentNotFound(org evidence.OrgAccess, name string, err error) error {
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

// LoadEnvironment reads the environment of a name, which may be a former one, or answers
// in the contract's words: two commands, and up to three more for the members of a
// logical one.
func (b *Base) LoadEnvironment(ctx context.Context, org evidence.OrgAccess, name string) (evidence.Environment, error) {
	ref, err := b.ResolveEnvironment(ctx, org, name)
	if err != nil {
		return evidence.Environment{}, err
	}
	found, err := b.Environments.Get(ctx, ref.ID)
	if err != nil || !found.Logical() {
		return found, err
	}
	one := []evidence.Environment{found}
	err = b.Environments.FollowRevivals(ctx, org.OrgID, one)
	return one[0], err
}

// CatchUpSpan bounds how long a reader waits for reports that are under way.
const CatchUpSpan = 2 * time.Second

// EnvironmentPath is the path of an operation on an environment.
type EnvironmentPath struct {
	server.OrgPath
	Environment string `path:"env_name" doc:"Name of the environment."`
}
