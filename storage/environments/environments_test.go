package environments_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// environmentSummary lists the environments in the order they were made, and where
// other names lead. It fails unless each has exactly the name that leads to it.
func environmentSummary(s *apptest.Fixture, org string) string {
	s.T.Helper()
	ctx := context.Background()
	leads := map[string]string{}
	// Twice, as meeting one name may finish what concerns another.
	for _, name := range slices.Concat(apptest.Names, apptest.Names) {
		ref, err := s.Environments.Resolve(ctx, org, name)
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			s.T.Fatal(err)
		}
		leads[name] = ref.ID
	}
	environments, err := s.Environments.List(ctx, org)
	s.Must(err)
	names := map[string]string{}
	var parts []string
	for _, e := range environments {
		names[e.ID] = e.Name
		parts = append(parts, e.Name)
		if leads[e.Name] != e.ID || e.Archived {
			s.T.Errorf("%s: %+v is listed, its name leads to %q", org, e, leads[e.Name])
		}
	}
	for _, name := range apptest.Names {
		switch id := leads[name]; {
		case id == "" || names[id] == name:
		case names[id] == "":
			s.T.Errorf("%s: %s leads to %s, which is not listed", org, name, id)
		default:
			parts = append(parts, "("+name+": "+names[id]+")")
		}
	}
	return strings.Join(parts, " ")
}

// TestChangesOfEnvironmentsBearACrashAtAnyWrite does each change in a process that
// dies at its first write, its second, and so on, and then again in one that lives.
func TestChangesOfEnvironmentsBearACrashAtAnyWrite(t *testing.T) {
	ctx := context.Background()
	type step = func(s *apptest.Fixture, org string) error
	put := func(name string, kind evidence.EnvironmentType) step {
		return func(s *apptest.Fixture, org string) error {
			_, _, err := putEnvironment(s, org, name, kind)
			return err
		}
	}
	rename := func(from, to string) step {
		return func(s *apptest.Fixture, org string) error { return s.Environments.Rename(ctx, org, from, to, 2) }
	}
	archive := func(name string) step {
		return func(s *apptest.Fixture, org string) error { return s.Environments.Archive(ctx, org, name, 3) }
	}
	one := put("one", evidence.Server)
	for name, c := range map[string]struct {
		before []step
		change step
		want   string
	}{
		"creation":               {nil, one, "one"},
		"renaming":               {[]step{one}, rename("one", "two"), "two (one: two)"},
		"taking a former name":   {[]step{one, rename("one", "two")}, put("one", evidence.K8S), "two one"},
		"archiving":              {[]step{one}, archive("one"), ""},
		"archiving by former":    {[]step{one, rename("one", "two")}, archive("one"), ""},
		"reviving":               {[]step{one, archive("one")}, put("one", evidence.K8S), "one"},
		"renaming onto archived": {[]step{one, archive("one"), put("two", evidence.S3)}, rename("two", "one"), "one (two: one)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := apptest.NewFixture(t)
			died := true
			for n := int64(1); died; n++ {
				died = false
				for _, after := range []bool{false, true} {
					org := fmt.Sprintf("org-%d-%t", n, after)
					s.Restart(0, false)
					for _, step := range c.before {
						s.Must(step(s, org))
					}
					s.Restart(n, after)
					err := c.change(s, org)
					died = died || s.Docs.Dead.Load()
					if s.Docs.Dead.Load() != (err != nil) {
						t.Fatalf("write %d: %v", n, err)
					}
					s.Restart(0, false)
					environmentSummary(s, org)
					// An archiving that has got far enough is not found any more.
					if err := c.change(s, org); err != nil && (!errors.Is(err, storage.ErrArchived) || c.want != "") {
						t.Errorf("write %d, after %t: repeated: %v", n, after, err)
					}
					if got := environmentSummary(s, org); got != c.want {
						t.Errorf("write %d, after %t: got %q", n, after, got)
					}
				}
				if !died && n < 3 {
					t.Errorf("the change took %d writes", n-1)
				}
			}
		})
	}
}

func TestEnvironmentNamesBearChangesAtOnce(t *testing.T) {
	s := apptest.NewFixture(t)
	ctx := context.Background()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 25 {
				from, to := apptest.Names[(i+j)%3], apptest.Names[(i*j+1)%3]
				var err error
				switch (i + j) % 4 {
				case 0:
					_, _, err = putEnvironment(s, "acme", from, evidence.Server)
				case 1, 2:
					err = s.Environments.Rename(ctx, "acme", from, to, float64(j))
				default:
					err = s.Environments.Archive(ctx, "acme", from, float64(j))
				}
				switch code := evidence.CodeOf(err); {
				case err == nil, errors.Is(err, storage.ErrNotFound):
				case code == evidence.Conflict, code == evidence.Invalid, code == evidence.Unavailable:
				default:
					t.Errorf("%s to %s: %v", from, to, err)
				}
			}
		})
	}
	group.Wait()
	environmentSummary(s, "acme")
}

func TestRevivedEnvironmentIsANewOne(t *testing.T) {
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
	// The name has another owner: what is archived stays so.
	s.Must(s.Environments.Archive(ctx, "acme", "one", 9))
	if again, err := s.Environments.Get(ctx, id); err != nil || again.ArchivedAt != 7 {
		t.Errorf("kept %+v, %v", again, err)
	}
}

// Whoever puts the old name of an environment whose renaming broke off gets either
// that environment, which still has the name, or a fresh one.
func TestPutAfterABrokenOffRenamingMeetsTheEnvironmentItAskedFor(t *testing.T) {
	ctx := context.Background()
	for n := int64(1); n <= 4; n++ {
		s := apptest.NewFixture(t)
		id, _, err := putEnvironment(s, "acme", "one", evidence.Server)
		s.Must(err)
		s.Restart(n, true)
		_ = s.Environments.Rename(ctx, "acme", "one", "two", 2)
		s.Restart(0, false)
		_, created, err := putEnvironment(s, "acme", "one", evidence.Server)
		s.Must(err)
		renamed, err := s.Environments.Get(ctx, id)
		s.Must(err)
		ref, err := s.Environments.Resolve(ctx, "acme", "one")
		if err != nil || (ref.ID == id) == created || (renamed.Name == "one") == created {
			t.Errorf("write %d: created %t, one leads to %s, the first is called %s, %v", n, created, ref.ID, renamed.Name, err)
		}
		environmentSummary(s, "acme")
	}
}

func TestTypeOfALiveEnvironmentStays(t *testing.T) {
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

func TestArchivedEnvironmentTakesNoChanges(t *testing.T) {
	s := apptest.NewFixture(t)
	ctx := t.Context()
	id, _, err := putEnvironment(s, "acme", "one", evidence.LogicalType)
	s.Must(err)
	s.Must(s.Environments.Archive(ctx, "acme", "one", 2))
	if err := s.Environments.Change(ctx, id, evidence.EnvironmentChange{Description: new("late")}, 3); !errors.Is(err, storage.ErrArchived) {
		t.Errorf("changed: %v", err)
	}
	if err := s.Environments.Join(ctx, id, "member", 3); !errors.Is(err, storage.ErrArchived) {
		t.Errorf("joined: %v", err)
	}
	if e, err := s.Environments.Get(ctx, id); err != nil || e.Description != "of one" || len(e.Included) != 0 {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestManyJoinsAtOnceLoseNone(t *testing.T) {
	s := apptest.NewFixture(t)
	id, _, err := putEnvironment(s, "acme", "all", evidence.LogicalType)
	s.Must(err)
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			if err := s.Environments.Join(context.Background(), id, fmt.Sprint("member-", i/2), 5); err != nil {
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

func TestNamesOfEnvironmentsKeepToTheirOrganization(t *testing.T) {
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
