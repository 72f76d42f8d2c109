package command

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/process"
)

type listedUser struct {
	Name      string `json:"name"`
	Email     string `json:"email"`
	CreatedAt string `json:"created_at"`
}

func listUsers(ctx context.Context, s *session, _ []string) error {
	list := s.newListing("NAME", "CREATED", "EMAIL")
	err := s.Store.Tenancy.EachUser(ctx, func(user *evidence.User) error {
		shown := listedUser{Name: user.Name, Email: user.Email, CreatedAt: isoTime(user.CreatedAt)}
		return list.add(shown, shown.Name, shown.CreatedAt, shown.Email)
	})
	return errors.Join(err, list.end())
}

func parseCreateUser(args []string) (action, error) {
	name, email := args[0], ""
	if err := evidence.CheckOrganizationName(name); err != nil {
		return nil, err
	}
	if len(args) > 1 {
		email = args[1]
		if err := evidence.CheckEmail(email); err != nil {
			return nil, err
		}
	}
	return opened(onlyDatabase, process.OpenDatabase, func(ctx context.Context, s *session, _ []string) error { // which may be new
		return s.done(s.Store.Tenancy.CreateUser(ctx, name, email, identity.Operator()), "user %s is created\n", name)
	})(args)
}

func removeUser(ctx context.Context, s *session, args []string) error {
	err := s.Store.Tenancy.RemoveUser(ctx, args[0], identity.Operator())
	return s.done(absent(err, noUser, args[0]), "user %s is removed\n", args[0])
}

const noUser = "there is no user %s"
