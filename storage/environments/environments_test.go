package environments_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/environments"
)

func putEnvironment(s *apptest.Fixture, org, name string, kind evidence.EnvironmentType) (string, bool, error) {
	fresh := evidence.Environment{
		ID: evidence.NewID(), Org: org, Name: name, Type: kind, Description: "of " + name, CreatedAt: 1, LastModifiedAt: 1,
	}
	created, err := s.Environments.Put(context.Background(), fresh, evidence.EnvironmentChange{Description: &fresh.Description})
	return fresh.ID, created, err
}

// named adapts environments to the tests of names in apptest.
var named = apptest.NamedThings{
	Put: func(s *apptest.Fixture, org, name string) (bool, error) {
		_, created, err := putEnvironment(s, org, name, evidence.Server)
		return created, err
	},
	Rename: func(s *apptest.Fixture, org, from, to string, at float64) error {
		return s.Environments.Rename(context.Background(), org, from, to, at)
	},
	Archive: func(s *apptest.Fixture, org, name string, at float64) error {
		return s.Environments.Archive(context.Background(), org, name, at)
	},
	Resolve: func(s *apptest.Fixture, org, name string) (string, error) {
		ref, err := s.Environments.Resolve(context.Background(), org, name)
		return ref.ID, err
	},
	List: func(s *apptest.Fixture, org string) (things []apptest.NamedThing, err error) {
		environments, err := s.Environments.List(context.Background(), org)
		for _, e := range environments {
			things = append(things, apptest.NamedThing{ID: e.ID, Name: e.Name, Archived: e.Archived})
		}
		return things, err
	},
}

func TestEnvironmentChangesTolerateACrashAtAnyWrite(t *testing.T) { named.SurviveCrashes(t, nil) }

func TestEnvironmentNamesTolerateSimultaneousChanges(t *testing.T) { named.SurviveChangesAtOnce(t) }

func TestPutAfterAnInterruptedRenameChangesOrCreatesTheEnvironment(t *testing.T) {
	named.PutAfterBrokenOffRenaming(t)
}

func TestPutOfAnArchivedNameCreatesANewEnvironment(t *testing.T) {
	s := apptest.NewFixture(t)
	ctx := context.Background()
	id, _, err := putEnvironment(s, "acme", "one", evidence.Server)
	s.Must(err)
	s.Must(s.Environments.Archive(ctx, "acme", "one", 7))
	if _, err := s.Environments.Resolve(ctx, "acme", "one"); !errors.Is(err, storage.ErrArchived) {
		t.Errorf("resolved with %v", err)
	}
	revived, created, err := putEnvironment(s, "acme", "one", evidence.K8S)
	s.Must(err)
	ref, err := s.Environments.Resolve(ctx, "acme", "one")
	if !created || err != nil || ref != (environments.EnvironmentRef{ID: revived, Type: evidence.K8S}) {
		t.Errorf("%t, %+v, %v", created, ref, err)
	}
	kept, err := s.Environments.Get(ctx, id)
	if err != nil || !kept.Archived || kept.ArchivedAt != 7 || kept.Name != "one" {
		t.Errorf("kept %+v, %v", kept, err)
	}
	// The name now belongs to the revived environment. Archiving that must not change the first one.
	s.Must(s.Environments.Archive(ctx, "acme", "one", 9))
	if again, err := s.Environments.Get(ctx, id); err != nil || again.ArchivedAt != 7 {
		t.Errorf("kept %+v, %v", again, err)
	}
}

func TestTypeOfAnEnvironmentCannotChange(t *testing.T) {
	s := apptest.NewFixture(t)
	_, _, err := putEnvironment(s, "acme", "one", evidence.Server)
	s.Must(err)
	if _, _, err := putEnvironment(s, "acme", "one", evidence.K8S); evidence.CodeOf(err) != evidence.Invalid {
		t.Errorf("another type: %v", err)
	}
	s.Must(s.Environments.Rename(t.Context(), "acme", "one", "two", 2))
	if _, created, err := putEnvironment(s, "acme", "one", evidence.K8S); err != nil || !created {
		t.Errorf("another type under the former name: %t, %v", created, err)
	}
}

func TestArchivedEnvironmentRefusesChanges(t *testing.T) {
	s := apptest.NewFixture(t)
	ctx := t.Context()
	id, _, err := putEnvironment(s, "acme", "one", evidence.LogicalType)
	s.Must(err)
	s.Must(s.Environments.Archive(ctx, "acme", "one", 2))
	if err := s.Environments.Modify(ctx, id, 3, func(e *evidence.Environment) (bool, error) {
		return e.Apply(evidence.EnvironmentChange{Description: new("late")}), nil
	}); !errors.Is(err, storage.ErrArchived) {
		t.Errorf("changed: %v", err)
	}
	if err := join(ctx, s, id, "member", 3); !errors.Is(err, storage.ErrArchived) {
		t.Errorf("joined: %v", err)
	}
	if e, err := s.Environments.Get(ctx, id); err != nil || e.Description != "of one" || len(e.Included) != 0 {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestSimultaneousJoinsAreAllStored(t *testing.T) {
	s := apptest.NewFixture(t)
	id, _, err := putEnvironment(s, "acme", "all", evidence.LogicalType)
	s.Must(err)
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			if err := join(context.Background(), s, id, fmt.Sprint("member-", i/2), 5); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	e, err := s.Environments.Get(t.Context(), id)
	s.Must(err)
	slices.Sort(e.Included)
	if len(e.Included) != 50 || len(slices.Compact(e.Included)) != 50 || e.LastModifiedAt != 5 {
		t.Errorf("%d members, %v", len(e.Included), e.Included)
	}
}

func TestResolvingEnvironmentsIsOneCommand(t *testing.T) {
	s := apptest.NewFixture(t)
	ctx := t.Context()
	one, _, err := putEnvironment(s, "acme", "one", evidence.Server)
	s.Must(err)
	s.Must(s.Environments.Rename(ctx, "acme", "one", "two", 2))
	three, _, err := putEnvironment(s, "acme", "three", evidence.K8S)
	s.Must(err)
	_, _, err = putEnvironment(s, "acme", "gone", evidence.K8S)
	s.Must(err)
	s.Must(s.Environments.Archive(ctx, "acme", "gone", 3))
	_, _, err = putEnvironment(s, "other", "theirs", evidence.K8S)
	s.Must(err)
	s.Restart(0, false)
	for _, name := range []string{"one", "two"} {
		before := s.Docs.Commands.Load()
		ref, err := s.Environments.Resolve(ctx, "acme", name)
		if spent := s.Docs.Commands.Load() - before; err != nil || ref.ID != one || spent != 1 {
			t.Errorf("%s: %+v, %v, %d commands", name, ref, err, spent)
		}
	}
	before := s.Docs.Commands.Load()
	refs, err := s.Environments.ResolveMany(ctx, "acme", []string{"gone", "one", "theirs", "three", "unknown"})
	if spent := s.Docs.Commands.Load() - before; err != nil || spent != 1 {
		t.Errorf("%v, %d commands", err, spent)
	}
	if len(refs) != 2 || refs["one"].ID != one || refs["three"] != (environments.EnvironmentRef{ID: three, Type: evidence.K8S}) {
		t.Errorf("got %+v", refs)
	}
}

func TestEnvironmentNamesAreLimitedToTheirOrganization(t *testing.T) {
	s := apptest.NewFixture(t)
	mine, _, err := putEnvironment(s, "acme", "one", evidence.Server)
	s.Must(err)
	theirs, _, err := putEnvironment(s, "other", "one", evidence.Server)
	s.Must(err)
	s.Must(s.Environments.Archive(t.Context(), "acme", "one", 2))
	named, err := s.Environments.Names(t.Context(), "acme", []string{mine, theirs, "unknown"})
	if err != nil || len(named) != 1 || named[mine].Name != "one" || !named[mine].Archived {
		t.Errorf("got %+v, %v", named, err)
	}
}
