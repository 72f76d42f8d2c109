package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/evidence/identity"
)

type listedOrganization struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Beta      bool   `json:"beta"`
	Public    bool   `json:"public"`
	CreatedAt string `json:"created_at"`
}

func listOrganizations(ctx context.Context, s *session, _ []string) error {
	list := s.newListing("NAME", "KIND", "BETA", "PUBLIC", "CREATED")
	err := s.Store.Tenancy.EachOrganization(ctx, func(org *evidence.Organization) error {
		shown := listedOrganization{
			Name: org.Name, Kind: string(org.Kind), Beta: org.Beta, Public: org.Public, CreatedAt: isoTime(org.CreatedAt),
		}
		return list.add(shown, shown.Name, shown.Kind, shown.Beta, shown.Public, shown.CreatedAt)
	})
	return errors.Join(err, list.end())
}

func parseCreateOrganization(args []string) (action, error) {
	name, admin := args[0], args[1]
	if err := evidence.CheckOrganizationName(name); err != nil {
		return nil, err
	}
	return withTenancy(func(ctx context.Context, s *session, _ []string) error {
		user, err := s.Store.Tenancy.User(ctx, admin)
		if err != nil {
			return absent(err, noUser, admin)
		}
		_, err = s.Store.Tenancy.CreateOrganization(ctx, name, user, identity.Operator())
		return s.done(err, "organization %s is created, %s administers it\n", name, admin)
	})(args)
}

type listedMember struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Role      string `json:"role"`
	CreatedAt string `json:"created_at"`
}

func listMembers(ctx context.Context, s *session, args []string) error {
	org, err := s.organization(ctx, args[0])
	if err != nil {
		return err
	}
	users, err := s.Store.Tenancy.Members(ctx, org.ID)
	if err != nil {
		return err
	}
	accounts, err := s.Store.Tenancy.ServiceAccounts(ctx, org.ID)
	if err != nil {
		return err
	}
	list := s.newListing("KIND", "NAME", "ROLE", "SINCE")
	add := func(kind, name string, role evidence.Role, since float64) {
		shown := listedMember{kind, name, role.String(), isoTime(since)}
		err = cmp.Or(err, list.add(shown, shown.Kind, shown.Name, shown.Role, shown.CreatedAt))
	}
	for _, user := range users {
		add("user", user.UserName, user.Role, user.CreatedAt)
	}
	for _, account := range accounts {
		add("service account", account.Name, account.Privilege, account.CreatedAt)
	}
	return errors.Join(err, list.end())
}

func parseSetMember(args []string) (action, error) {
	org, user := args[0], args[1]
	role, err := evidence.ParseRole(args[2])
	if err != nil {
		return nil, errors.New("a role is admin, member, snapshotter or reader")
	}
	return withTenancy(func(ctx context.Context, s *session, _ []string) error {
		if _, err := s.organization(ctx, org); err != nil {
			return err
		}
		change, err := s.Store.Tenancy.SetMember(ctx, org, user, role, identity.Operator())
		return s.done(err, "user %s is %v of organization %s\n%s", user, role, org, leftAccounts(change.Left))
	})(args)
}

func removeMember(ctx context.Context, s *session, args []string) error {
	org, user := args[0], args[1]
	if _, err := s.organization(ctx, org); err != nil {
		return err
	}
	change, err := s.Store.Tenancy.RemoveMember(ctx, org, user, identity.Operator())
	err = absent(err, "user %s is not a member of organization %s", user, org)
	return s.done(err, "user %s is removed from organization %s\n%s", user, org, leftAccounts(change.Left))
}

// leftAccounts lists service accounts that a user has created but may not manage any more.
func leftAccounts(left []identity.ServiceAccount) string {
	var text strings.Builder
	for _, account := range left {
		fmt.Fprintf(&text, "service account %s (%v) is managed by administrators alone from now on\n", account.Name, account.Privilege)
	}
	return text.String()
}

func (s *session) organization(ctx context.Context, name string) (evidence.Organization, error) {
	org, err := s.Store.Tenancy.Organization(ctx, name)
	return org, absent(err, "there is no organization %s", name)
}
