package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

// listedOrganization is an organization as it is listed.
type listedOrganization struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Beta      bool   `json:"beta"`
	Public    bool   `json:"public"`
	CreatedAt string `json:"created_at"`
}

func parseListOrganizations([]string) (action, error) {
	return withTenancy(func(ctx context.Context, s *session) error {
		list := s.newListing("NAME", "KIND", "BETA", "PUBLIC", "CREATED")
		err := s.Store.Tenancy.EachOrganization(ctx, func(org *evidence.Organization) error {
			shown := listedOrganization{
				Name: org.Name, Kind: string(org.Kind), Beta: org.Beta, Public: org.Public, CreatedAt: isoTime(org.CreatedAt),
			}
			return list.add(shown, shown.Name, shown.Kind, shown.Beta, shown.Public, shown.CreatedAt)
		})
		return errors.Join(err, list.end())
	}), nil
}

func parseCreateOrganization(args []string) (action, error) {
	name, admin := args[0], args[1]
	if err := evidence.CheckOrganizationName(name); err != nil {
		return nil, err
	}
	return withTenancy(func(ctx context.Context, s *session) error {
		user, err := s.Store.Tenancy.User(ctx, admin)
		if errors.Is(err, storage.ErrNotFound) {
			return noUser(admin)
		}
		if err != nil {
			return err
		}
		if _, err := s.Store.Tenancy.CreateOrganization(ctx, name, user, identity.Operator()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "organization %s is created, %s administers it\n", name, admin)
		return err
	}), nil
}

// listedMember is a user or a service account of an organization as it is listed.
type listedMember struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Role      string `json:"role"`
	CreatedAt string `json:"created_at"`
}

func parseListMembers(args []string) (action, error) {
	return withTenancy(func(ctx context.Context, s *session) error {
		members, err := s.members(ctx, args[0])
		if err != nil {
			return err
		}
		list := s.newListing("KIND", "NAME", "ROLE", "SINCE")
		for _, shown := range members {
			if err := list.add(shown, shown.Kind, shown.Name, shown.Role, shown.CreatedAt); err != nil {
				return err
			}
		}
		return list.end()
	}), nil
}

// members are the users and the service accounts of an organization.
func (s *session) members(ctx context.Context, orgName string) ([]listedMember, error) {
	org, err := s.organization(ctx, orgName)
	if err != nil {
		return nil, err
	}
	users, err := s.Store.Tenancy.Members(ctx, org.ID)
	if err != nil {
		return nil, err
	}
	accounts, err := s.Store.Tenancy.ServiceAccounts(ctx, org.ID)
	if err != nil {
		return nil, err
	}
	var members []listedMember
	for _, user := range users {
		members = append(members, listedMember{"user", user.UserName, user.Role.String(), isoTime(user.CreatedAt)})
	}
	for _, account := range accounts {
		members = append(members, listedMember{"service account", account.Name, account.Privilege.String(), isoTime(account.CreatedAt)})
	}
	return members, nil
}

func parseSetMember(args []string) (action, error) {
	org, user := args[0], args[1]
	role, err := evidence.ParseRole(args[2])
	if err != nil {
		return nil, errors.New("a role is admin, member, snapshotter or reader")
	}
	return withTenancy(func(ctx context.Context, s *session) error {
		if _, err := s.organization(ctx, org); err != nil {
			return err
		}
		change, err := s.Store.Tenancy.SetMember(ctx, org, user, role, identity.Operator())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "user %s is %v of organization %s\n%s", user, role, org, leftAccounts(change.Left))
		return err
	}), nil
}

func parseRemoveMember(args []string) (action, error) {
	org, user := args[0], args[1]
	return withTenancy(func(ctx context.Context, s *session) error {
		if _, err := s.organization(ctx, org); err != nil {
			return err
		}
		change, err := s.Store.Tenancy.RemoveMember(ctx, org, user, identity.Operator())
		if errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("user %s is not a member of organization %s", user, org)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "user %s is removed from organization %s\n%s", user, org, leftAccounts(change.Left))
		return err
	}), nil
}

// leftAccounts says which service accounts a user has created and does not manage any more.
func leftAccounts(left []identity.ServiceAccount) string {
	var text strings.Builder
	for _, account := range left {
		fmt.Fprintf(&text, "service account %s (%v) is managed by administrators alone from now on\n", account.Name, account.Privilege)
	}
	return text.String()
}

// organization reads an organization by its name.
func (s *session) organization(ctx context.Context, name string) (evidence.Organization, error) {
	org, err := s.Store.Tenancy.Organization(ctx, name)
	if errors.Is(err, storage.ErrNotFound) {
		err = fmt.Errorf("there is no organization %s", name)
	}
	return org, err
}
