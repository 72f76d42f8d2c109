package command

import (
	"context"
	"errors"
	"fmt"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

// listedUser is a user as it is listed.
type listedUser struct {
	Name      string `json:"name"`
	Email     string `json:"email"`
	CreatedAt string `json:"created_at"`
}

func parseListUsers([]string) (action, error) {
	return withTenancy(func(ctx context.Context, s *session) error {
		list := s.newListing("NAME", "CREATED", "EMAIL")
		err := s.Store.Tenancy.EachUser(ctx, func(user *evidence.User) error {
			shown := listedUser{Name: user.Name, Email: user.Email, CreatedAt: isoTime(user.CreatedAt)}
			return list.add(shown, shown.Name, shown.CreatedAt, shown.Email)
		})
		return errors.Join(err, list.end())
	}), nil
}

func parseCreateUser(args []string) (action, error) {
	name, email := args[0], ""
	if err := evidence.CheckUserName(name); err != nil {
		return nil, err
	}
	if len(args) > 1 {
		email = args[1]
		if err := evidence.CheckEmail(email); err != nil {
			return nil, err
		}
	}
	return withTenancy(func(ctx context.Context, s *session) error {
		if err := s.Store.Tenancy.CreateUser(ctx, name, email, identity.Operator()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out, "user %s is created\n", name)
		return err
	}), nil
}

func parseRemoveUser(args []string) (action, error) {
	return withTenancy(func(ctx context.Context, s *session) error {
		err := s.Store.Tenancy.RemoveUser(ctx, args[0], identity.Operator())
		if errors.Is(err, storage.ErrNotFound) {
			return noUser(args[0])
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "user %s is removed\n", args[0])
		return err
	}), nil
}

func noUser(name string) error { return fmt.Errorf("there is no user %s", name) }
