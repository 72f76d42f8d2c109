package environments_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
)

func TestLogicalEnvironmentsAreFoundByTheirMembers(t *testing.T) {
	s := apptest.NewFixture(t)
	ctx := t.Context()
	ids := map[string]string{}
	put := func(org, name string, kind evidence.EnvironmentType, members ...string) {
		t.Helper()
		id, _, err := putEnvironment(s, org, name, kind)
		s.Must(err)
		ids[name] = id
		for _, member := range members {
			s.Must(join(ctx, s, id, ids[member], 5))
		}
	}
	put("acme", "one", evidence.Server)
	put("acme", "two", evidence.Server)
	put("acme", "three", evidence.Server)
	put("acme", "all", evidence.LogicalType, "one", "two")
	put("acme", "both", evidence.LogicalType, "two", "one")
	put("acme", "none", evidence.LogicalType)
	put("acme", "gone", evidence.LogicalType, "one")
	put("other", "theirs", evidence.LogicalType, "one")
	s.Must(s.Environments.Archive(ctx, "acme", "gone", 6))
	for _, c := range []struct {
		org, member string
		want        []string
	}{
		{"acme", "one", []string{"all", "both"}},
		{"acme", "three", nil},
		{"acme", "all", nil},
		{"other", "one", []string{"theirs"}},
	} {
		t.Run(c.org+"/"+c.member, func(t *testing.T) {
			before := s.Docs.Commands.Load()
			found, err := s.Environments.Including(ctx, c.org, ids[c.member])
			if spent := s.Docs.Commands.Load() - before; err != nil || spent != 1 {
				t.Errorf("%d commands, %v", spent, err)
			}
			want := evidence.Map(c.want, func(name string) string { return ids[name] })
			if slices.Sort(found); !slices.Equal(found, slices.Sorted(slices.Values(want))) {
				t.Errorf("found %v, want %v", found, want)
			}
		})
	}
}

func TestMembershipListsActiveMembersAndFollowsSuccessors(t *testing.T) {
	s := apptest.NewFixture(t)
	ctx := t.Context()
	one, _, err := putEnvironment(s, "acme", "one", evidence.Server)
	s.Must(err)
	two, _, err := putEnvironment(s, "acme", "two", evidence.Server)
	s.Must(err)
	all, _, err := putEnvironment(s, "acme", "all", evidence.LogicalType)
	s.Must(err)
	s.Must(join(ctx, s, all, one, 5))
	s.Must(join(ctx, s, all, two, 5))
	assert := func(when string, included, active []string, archived int) {
		t.Helper()
		got, err := s.Environments.Membership(ctx, all)
		s.Must(err)
		stored, err := s.Environments.Get(ctx, all)
		s.Must(err)
		if !slices.Equal(got.Included, included) || !slices.Equal(got.Active, active) || !slices.Equal(stored.Included, included) {
			t.Errorf("%s: %v, active %v, stored %v", when, got.Included, got.Active, stored.Included)
		}
		former, err := s.Environments.IncludingArchived(ctx, "acme", "one")
		if s.Must(err); len(former) != archived {
			t.Errorf("%s: %v include an archived one", when, former)
		}
		if stored.LastModifiedAt != 5 {
			t.Errorf("%s: modified at %v", when, stored.LastModifiedAt)
		}
	}
	assert("at first", []string{one, two}, []string{one, two}, 0)
	s.Must(s.Environments.Archive(ctx, "acme", "one", 6))
	assert("archived", []string{one, two}, []string{two}, 1)
	successor, created, err := putEnvironment(s, "acme", "one", evidence.K8S)
	if s.Must(err); !created {
		t.Fatal("it was not recreated")
	}
	assert("recreated", []string{successor, two}, []string{successor, two}, 0)
	s.Must(s.Environments.Modify(ctx, all, 5, func(e *evidence.Environment) (bool, error) {
		e.Included = append(e.Included, two)
		return true, nil
	}))
	assert("listed twice", []string{successor, two, two}, []string{successor, two}, 0)
	if found, err := s.Environments.Including(ctx, "acme", successor); err != nil || fmt.Sprint(found) != fmt.Sprint([]string{all}) {
		t.Errorf("the successor is found in %v, %v", found, err)
	}
	if got, err := s.Environments.Membership(ctx, two); err != nil || got.ID != two || got.Active != nil {
		t.Errorf("a physical one is %+v, %v", got, err)
	}
}

func join(ctx context.Context, s *apptest.Fixture, id, member string, at float64) error {
	return s.Environments.Modify(ctx, id, at, func(e *evidence.Environment) (bool, error) { return e.Join(member) })
}
