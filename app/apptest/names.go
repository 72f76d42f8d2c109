package apptest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"attestry/evidence"
	"attestry/storage"
)

// Names are all names that the tests use.
var Names = []string{"one", "two", "three"}

// NamedThing is an entry of a list of things that can be renamed.
type NamedThing struct {
	ID, Name string
	Archived bool
}

// NamedThings is the repository of a kind of things that can be renamed.
type NamedThings struct {
	Put     func(s *Fixture, org, name string) (created bool, err error)
	Rename  func(s *Fixture, org, from, to string, at float64) error
	Archive func(s *Fixture, org, name string, at float64) error
	Resolve func(s *Fixture, org, name string) (id string, err error)
	// List lists the things that are not archived, in the order they were made.
	List func(s *Fixture, org string) ([]NamedThing, error)
}

// NameChange is a change of names, with the steps before it.
type NameChange struct {
	Before []func(s *Fixture, org string) error
	Change func(s *Fixture, org string) error
	// Want is the summary after the change.
	Want string
}

// Summary lists the things in the order they were made and, in brackets, the things to which their former names lead.
// It fails the test unless the name of each thing leads to it.
func (k NamedThings) Summary(s *Fixture, org string) string {
	s.T.Helper()
	leads := map[string]string{}
	// Resolve each name twice: to resolve one may complete an interrupted change of another.
	for _, name := range slices.Concat(Names, Names) {
		id, err := k.Resolve(s, org, name)
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			s.T.Fatal(err)
		}
		leads[name] = id
	}
	things, err := k.List(s, org)
	s.Must(err)
	names := map[string]string{}
	var parts []string
	for _, thing := range things {
		names[thing.ID] = thing.Name
		parts = append(parts, thing.Name)
		if leads[thing.Name] != thing.ID || thing.Archived {
			s.T.Errorf("%s: %+v is listed, its name leads to %q", org, thing, leads[thing.Name])
		}
	}
	for _, name := range Names {
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

// changes are changes that can be made to things of any kind.
func (k NamedThings) changes() map[string]NameChange {
	type step = func(s *Fixture, org string) error
	put := func(name string) step {
		return func(s *Fixture, org string) error { _, err := k.Put(s, org, name); return err }
	}
	rename := func(from, to string) step {
		return func(s *Fixture, org string) error { return k.Rename(s, org, from, to, 2) }
	}
	archive := func(name string) step {
		return func(s *Fixture, org string) error { return k.Archive(s, org, name, 3) }
	}
	one := put("one")
	return map[string]NameChange{
		"creation":                            {nil, one, "one"},
		"renaming":                            {[]step{one}, rename("one", "two"), "two (one: two)"},
		"renaming a former one":               {[]step{one, rename("one", "two")}, rename("one", "three"), "three (one: three) (two: three)"},
		"renaming back":                       {[]step{one, rename("one", "two")}, rename("two", "one"), "one (two: one)"},
		"renaming onto another's former name": {[]step{one, rename("one", "two"), put("three")}, rename("three", "one"), "two one (three: one)"},
		"taking a former name":                {[]step{one, rename("one", "two")}, one, "two one"},
		"archiving":                           {[]step{one}, archive("one"), ""},
		"archiving by former":                 {[]step{one, rename("one", "two")}, archive("one"), ""},
		"taking an archived name":             {[]step{one, archive("one")}, one, "one"},
		"renaming onto archived":              {[]step{one, archive("one"), put("two")}, rename("two", "one"), "one (two: one)"},
	}
}

// SurviveCrashes does each of the changes, and those in more, in a process that dies at its first write, its second, and
// so on, and repeats it in another process.
func (k NamedThings) SurviveCrashes(t *testing.T, more map[string]NameChange) {
	changes := k.changes()
	for name, change := range more {
		changes[name] = change
	}
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			s := NewFixture(t)
			died := true
			for n := 1; died; n++ {
				died = false
				for _, after := range []bool{false, true} {
					for _, look := range []bool{false, true} {
						org := fmt.Sprintf("org-%d-%t-%t", n, after, look)
						died = k.crash(s, org, c, n, after, look) || died
					}
				}
				if !died && n < 3 {
					t.Errorf("the change took only %d writes", n-1)
				}
			}
		})
	}
}

// crash does a change in a process that dies before or after its n-th write, and repeats it. If look is true, it resolves
// the names in between. It reports whether the process died.
func (k NamedThings) crash(s *Fixture, org string, c NameChange, n int, after, look bool) (died bool) {
	s.T.Helper()
	s.Restart(0, false)
	for _, step := range c.Before {
		s.Must(step(s, org))
	}
	s.Restart(n, after)
	err := c.Change(s, org)
	died = s.Docs.Dead.Load()
	if died != (err != nil) {
		s.T.Fatalf("%s: %v", org, err)
	}
	s.Restart(0, false)
	if look {
		k.Summary(s, org)
	}
	// If the first attempt has archived the thing, the repeated one finds it archived.
	if err := c.Change(s, org); err != nil && (!errors.Is(err, storage.ErrArchived) || c.Want != "") {
		s.T.Errorf("%s: repeated: %v", org, err)
	}
	if got := k.Summary(s, org); got != c.Want {
		s.T.Errorf("%s: got %q", org, got)
	}
	return died
}

// SurviveChangesAtOnce changes names in many goroutines at once.
func (k NamedThings) SurviveChangesAtOnce(t *testing.T) {
	s := NewFixture(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 25 {
				from, to := Names[(i+j)%3], Names[(i*j+1)%3]
				var err error
				switch (i + j) % 4 {
				case 0:
					_, err = k.Put(s, "acme", from)
				case 1, 2:
					err = k.Rename(s, "acme", from, to, float64(j))
				default:
					err = k.Archive(s, "acme", from, float64(j))
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
	k.Summary(s, "acme")
}

// PutAfterBrokenOffRenaming puts the old name of a thing whose renaming was interrupted. That changes the thing if it
// still has the name, or else makes a new one.
func (k NamedThings) PutAfterBrokenOffRenaming(t *testing.T) {
	for n := 1; n <= 4; n++ {
		s := NewFixture(t)
		_, err := k.Put(s, "acme", "one")
		s.Must(err)
		id, err := k.Resolve(s, "acme", "one")
		s.Must(err)
		s.Restart(n, true)
		_ = k.Rename(s, "acme", "one", "two", 2)
		s.Restart(0, false)
		created, err := k.Put(s, "acme", "one")
		s.Must(err)
		found, err := k.Resolve(s, "acme", "one")
		s.Must(err)
		things, err := k.List(s, "acme")
		s.Must(err)
		renamed := things[slices.IndexFunc(things, func(thing NamedThing) bool { return thing.ID == id })]
		if (found == id) == created || (renamed.Name == "one") == created {
			t.Errorf("write %d: created %t, one leads to %s, the first is called %s", n, created, found, renamed.Name)
		}
		k.Summary(s, "acme")
	}
}
