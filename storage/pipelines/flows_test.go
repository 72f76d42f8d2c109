package pipelines_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/template"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// assertSound checks that every flow in the list is found by its name, and that no
// name leads to an archived one.
func assertSound(s *apptest.Fixture, org string) {
	s.T.Helper()
	ctx := context.Background()
	for _, name := range apptest.Names {
		ref, err := s.Flows.Resolve(ctx, org, name)
		if err != nil {
			continue
		}
		if flow, err := s.Flows.Get(ctx, ref.ID); err != nil || flow.Archived {
			s.T.Errorf("%s: %s leads to %+v, %v", org, name, flow, err)
		}
	}
	leads := map[string]string{}
	// Twice, as meeting one name may finish what concerns another.
	for _, name := range slices.Concat(apptest.Names, apptest.Names) {
		ref, err := s.Flows.Resolve(ctx, org, name)
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			s.T.Fatal(err)
		}
		leads[name] = ref.ID
	}
	flows, err := s.Flows.List(ctx, org)
	s.Must(err)
	listed := map[string]bool{"": true}
	for _, flow := range flows {
		listed[flow.ID] = true
		if leads[flow.Name] != flow.ID {
			s.T.Errorf("%s: flow %s is listed as %s, which leads to %q", org, flow.ID, flow.Name, leads[flow.Name])
		}
	}
	for name, id := range leads {
		if !listed[id] {
			s.T.Errorf("%s: %s leads to %s, which is not listed", org, name, id)
		}
	}
}

// TestChangesOfFlowsBearACrashAtAnyWrite does each change in a process that dies at
// its first write, its second, and so on, and then again in one that lives.
func TestChangesOfFlowsBearACrashAtAnyWrite(t *testing.T) {
	ctx := context.Background()
	type step = func(s *apptest.Fixture, org string) error
	put := func(name string) step {
		return func(s *apptest.Fixture, org string) error { _, _, err := s.PutFlow(org, name); return err }
	}
	rename := func(from, to string) step {
		return func(s *apptest.Fixture, org string) error { return s.Flows.Rename(ctx, org, from, to, 2) }
	}
	archive := func(name string) step {
		return func(s *apptest.Fixture, org string) error { return s.Flows.Archive(ctx, org, name, 3) }
	}
	for name, c := range map[string]struct {
		before []step
		change step
		want   string // the listed flows and, in brackets, where the other names lead
	}{
		"creation": {nil, put("one"), "one"},
		"creation by a report": {nil, func(s *apptest.Fixture, org string) error {
			_, _, err := s.Flows.Ensure(ctx, org, "one", "me", 1)
			return err
		}, "one"},
		"renaming":              {[]step{put("one")}, rename("one", "two"), "two (one: two)"},
		"renaming a former one": {[]step{put("one"), rename("one", "two")}, rename("one", "three"), "three (one: three) (two: three)"},
		"renaming back":         {[]step{put("one"), rename("one", "two")}, rename("two", "one"), "one (two: one)"},
		"renaming onto another's former name": {[]step{put("one"), rename("one", "two"), put("three")},
			rename("three", "one"), "two one (three: one)"},
		"taking a former name":    {[]step{put("one"), rename("one", "two")}, put("one"), "two one"},
		"archiving":               {[]step{put("one")}, archive("one"), ""},
		"archiving by former":     {[]step{put("one"), rename("one", "two")}, archive("one"), ""},
		"taking an archived name": {[]step{put("one"), archive("one")}, put("one"), "one"},
		"renaming onto archived":  {[]step{put("one"), archive("one"), put("two")}, rename("two", "one"), "one (two: one)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := apptest.NewFixture(t)
			for n := int64(1); ; n++ {
				died := false
				for _, after := range []bool{false, true} {
					for _, repeat := range []bool{false, true} {
						org := fmt.Sprintf("org-%d-%t-%t", n, after, repeat)
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
						if !repeat {
							assertSound(s, org)
							continue
						}
						// An archiving that has got far enough is not found any more.
						if err := c.change(s, org); err != nil && (!errors.Is(err, storage.ErrNotFound) || c.want != "") {
							t.Errorf("write %d, after %t: repeated: %v", n, after, err)
						}
						assertSound(s, org)
						if got := summary(s, org); got != c.want {
							t.Errorf("write %d, after %t: got %q", n, after, got)
						}
					}
				}
				if !died {
					if n < 3 {
						t.Errorf("the change took %d writes", n-1)
					}
					return
				}
			}
		})
	}
}

// A renaming that broke off must not come back when its flow has changed since.
func TestBrokenOffRenamingIsVoidOnceTheFlowHasChanged(t *testing.T) {
	ctx := context.Background()
	for name, change := range map[string]func(s *apptest.Fixture, id string) error{
		"renamed": func(s *apptest.Fixture, _ string) error { return s.Flows.Rename(ctx, "acme", "one", "three", 2) },
		"renamed there and back": func(s *apptest.Fixture, _ string) error {
			return errors.Join(s.Flows.Rename(ctx, "acme", "one", "three", 2), s.Flows.Rename(ctx, "acme", "three", "one", 3))
		},
		"tagged": func(s *apptest.Fixture, id string) error {
			return s.Flows.SetTags(ctx, id, map[string]string{"a": "b"}, nil, 2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := apptest.NewFixture(t)
			id, _, err := s.PutFlow("acme", "one")
			s.Must(err)
			s.Restart(1, true)
			if err := s.Flows.Rename(ctx, "acme", "one", "two", 2); !errors.Is(err, apptest.ErrKilled) {
				t.Fatal(err)
			}
			s.Restart(0, false)
			s.Must(change(s, id))
			before, err := s.Flows.Get(ctx, id)
			s.Must(err)
			ref, err := s.Flows.Resolve(ctx, "acme", "two")
			if err != nil || ref.ID != id {
				t.Errorf("two leads to %s, %v", ref.ID, err)
			}
			if after, err := s.Flows.Get(ctx, id); err != nil || after.Name != before.Name {
				t.Errorf("it is called %s, %v", after.Name, err)
			}
			assertSound(s, "acme")
		})
	}
}

// Whoever puts the old name of a flow whose renaming broke off gets either that
// flow, which still has the name, or a fresh one.
func TestPutAfterABrokenOffRenamingMeetsTheNameItAskedFor(t *testing.T) {
	ctx := context.Background()
	for n := int64(1); n <= 4; n++ {
		s := apptest.NewFixture(t)
		id, _, err := s.PutFlow("acme", "one")
		s.Must(err)
		s.Restart(n, true)
		_ = s.Flows.Rename(ctx, "acme", "one", "two", 2)
		s.Restart(0, false)
		got, _, err := s.PutFlow("acme", "one")
		s.Must(err)
		if flow, err := s.Flows.Get(ctx, got); err != nil || flow.Name != "one" {
			t.Errorf("write %d: put %+v, %v", n, flow, err)
		}
		if renamed, err := s.Flows.Get(ctx, id); err != nil || (renamed.Name == "one") != (got == id) {
			t.Errorf("write %d: the flow is called %s, %v", n, renamed.Name, err)
		}
		assertSound(s, "acme")
	}
}

// summary lists the flows in the order they were made, and where other names lead.
func summary(s *apptest.Fixture, org string) string {
	s.T.Helper()
	flows, err := s.Flows.List(context.Background(), org)
	s.Must(err)
	names := map[string]string{}
	var parts []string
	for _, flow := range flows {
		names[flow.ID] = flow.Name
		parts = append(parts, flow.Name)
	}
	for _, name := range apptest.Names {
		ref, err := s.Flows.Resolve(context.Background(), org, name)
		if err == nil && names[ref.ID] != name {
			parts = append(parts, "("+name+": "+names[ref.ID]+")")
		}
	}
	return strings.Join(parts, " ")
}

func TestFlowNamesBearChangesAtOnce(t *testing.T) {
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
					_, _, err = s.PutFlow("acme", from)
				case 1, 2:
					err = s.Flows.Rename(ctx, "acme", from, to, float64(j))
				default:
					err = s.Flows.Archive(ctx, "acme", from, float64(j))
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
	assertSound(s, "acme")
}

func TestManyEnsureOneFlow(t *testing.T) {
	s := apptest.NewFixture(t)
	var group sync.WaitGroup
	var made atomic.Int64
	ids := sync.Map{}
	for range 200 {
		group.Go(func() {
			flow, created, err := s.Flows.Ensure(context.Background(), "acme", "web", "me", 5)
			if err != nil {
				t.Error(err)
			}
			if created {
				made.Add(1)
			}
			ids.Store(flow.ID, true)
		})
	}
	group.Wait()
	count := 0
	ids.Range(func(any, any) bool { count++; return true })
	if made.Load() != 1 || count != 1 {
		t.Errorf("%d were made, with %d ids", made.Load(), count)
	}
	flows, err := s.Flows.List(t.Context(), "acme")
	s.Must(err)
	if len(flows) != 1 || flows[0].Template != template.ID([]byte(template.Empty)) || flows[0].CreatedBy != "me" || flows[0].CreatedAt != 5 {
		t.Errorf("listed %+v", flows)
	}
}

func TestResolvingAFlowIsOneCommand(t *testing.T) {
	s := apptest.NewFixture(t)
	id, created, err := s.PutFlow("acme", "one")
	s.Must(err)
	s.Must(s.Flows.Rename(t.Context(), "acme", "one", "two", 2))
	s.Restart(0, false)
	for _, name := range []string{"one", "two"} {
		before := s.Docs.Commands.Load()
		ref, err := s.Flows.Resolve(t.Context(), "acme", name)
		if spent := s.Docs.Commands.Load() - before; err != nil || ref.ID != id || !created || spent != 1 {
			t.Errorf("%s: %+v, %v, %d commands", name, ref, err, spent)
		}
	}
	if _, err := s.Flows.Resolve(t.Context(), "other", "one"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("another organization: %v", err)
	}
}

func TestResolvingManyFlowsIsOneCommand(t *testing.T) {
	s := apptest.NewFixture(t)
	one, _, err := s.PutFlow("acme", "one")
	s.Must(err)
	s.Must(s.Flows.Rename(t.Context(), "acme", "one", "two", 2))
	three, _, err := s.PutFlow("acme", "three")
	s.Must(err)
	_, _, err = s.PutFlow("acme", "gone")
	s.Must(err)
	s.Must(s.Flows.Archive(t.Context(), "acme", "gone", 3))
	_, _, err = s.PutFlow("other", "theirs")
	s.Must(err)
	s.Restart(0, false)
	refs, err := s.Flows.ResolveMany(t.Context(), "acme", []string{"gone", "one", "theirs", "three", "two", "unknown"})
	s.Must(err)
	if want := []pipelines.FlowRef{{ID: one}, {ID: three}, {ID: one}}; !slices.Equal(refs, want) {
		t.Errorf("got %v, want %v", refs, want)
	}
	if spent := s.Docs.Commands.Load(); spent != 1 {
		t.Errorf("%d commands", spent)
	}
}

func TestResolvingManyFlowsFinishesWhatWasBrokenOff(t *testing.T) {
	s := apptest.NewFixture(t)
	kept, _, err := s.PutFlow("acme", "kept")
	s.Must(err)
	_, _, err = s.PutFlow("acme", "archived")
	s.Must(err)
	s.Restart(2, false)
	if err := s.Flows.Archive(t.Context(), "acme", "archived", 3); err == nil {
		t.Fatal("nothing was broken off")
	}
	s.Restart(2, false)
	if _, _, err := s.PutFlow("acme", "made"); err == nil {
		t.Fatal("nothing was broken off")
	}
	s.Restart(0, false)
	refs, err := s.Flows.ResolveMany(t.Context(), "acme", []string{"archived", "kept", "made"})
	s.Must(err)
	made, err := s.Flows.Resolve(t.Context(), "acme", "made")
	s.Must(err)
	if want := []pipelines.FlowRef{{ID: kept}, made}; !slices.Equal(refs, want) {
		t.Errorf("got %v, want %v", refs, want)
	}
	if flow, err := s.Flows.Get(t.Context(), made.ID); err != nil || flow.Name != "made" {
		t.Errorf("made %+v, %v", flow, err)
	}
}

func TestNamesOfFlowsKeepToTheirOrganization(t *testing.T) {
	s := apptest.NewFixture(t)
	mine, _, err := s.PutFlow("acme", "one")
	s.Must(err)
	theirs, _, err := s.PutFlow("other", "one")
	s.Must(err)
	named, err := s.Flows.Names(t.Context(), "acme", []string{mine, theirs, "unknown"})
	s.Must(err)
	if len(named) != 1 || named[mine].Name != "one" {
		t.Errorf("named %+v", named)
	}
}

func TestTakenNameIsTheFaultOfTheRequest(t *testing.T) {
	s := apptest.NewFixture(t)
	for _, name := range []string{"one", "two"} {
		_, _, err := s.PutFlow("acme", name)
		s.Must(err)
	}
	err := s.Flows.Rename(t.Context(), "acme", "one", "two", 2)
	var refused *evidence.Error
	if !errors.As(err, &refused) || refused.Code != evidence.Invalid || refused.Fields["new_name"] == "" {
		t.Errorf("the error is %v", err)
	}
	assertSound(s, "acme")
}
