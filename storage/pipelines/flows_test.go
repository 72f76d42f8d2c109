package pipelines_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/template"
	"attestry/storage"
	"attestry/storage/names"
	"attestry/storage/storagetest"
)

// named adapts flows to the tests of names in apptest.
var named = apptest.NamedThings{
	Put: func(s *apptest.Fixture, org, name string) (bool, error) {
		_, created, err := s.PutFlow(org, name)
		return created, err
	},
	Rename: func(s *apptest.Fixture, org, from, to string, at float64) error {
		return s.Flows.Rename(context.Background(), org, from, to, at)
	},
	Archive: func(s *apptest.Fixture, org, name string, at float64) error {
		return s.Flows.Archive(context.Background(), org, name, at)
	},
	Resolve: func(s *apptest.Fixture, org, name string) (string, error) {
		ref, err := s.Flows.Resolve(context.Background(), org, name)
		return ref.ID, err
	},
	List: func(s *apptest.Fixture, org string) (things []apptest.NamedThing, err error) {
		flows, err := s.Flows.List(context.Background(), org)
		for _, f := range flows {
			things = append(things, apptest.NamedThing{ID: f.ID, Name: f.Name, Archived: f.Archived})
		}
		return things, err
	},
}

func TestFlowChangesTolerateACrashAtAnyWrite(t *testing.T) {
	report := func(s *apptest.Fixture, org string) error {
		_, err := s.Flows.Ensure(context.Background(), org, "one", "me", 1)
		return err
	}
	named.SurviveCrashes(t, map[string]apptest.NameChange{"creation by a report": {Change: report, Want: "one"}})
}

func TestFlowNamesTolerateSimultaneousChanges(t *testing.T) { named.SurviveChangesAtOnce(t) }

func TestPutAfterAnInterruptedRenameChangesOrCreatesTheFlow(t *testing.T) {
	named.PutAfterBrokenOffRenaming(t)
}

func TestInterruptedRenameIsNotResumedOnceTheFlowHasChanged(t *testing.T) {
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
			if err := s.Flows.Rename(ctx, "acme", "one", "two", 2); !errors.Is(err, storagetest.ErrKilled) {
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
			named.Summary(s, "acme")
		})
	}
}

func TestSimultaneousEnsuresCreateOneFlow(t *testing.T) {
	s := apptest.NewFixture(t)
	var group sync.WaitGroup
	ids := sync.Map{}
	for range 200 {
		group.Go(func() {
			flow, err := s.Flows.Ensure(context.Background(), "acme", "web", "me", 5)
			if err != nil {
				t.Error(err)
			}
			ids.Store(flow, true)
		})
	}
	group.Wait()
	count := 0
	ids.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("there are %d ids", count)
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
	got := idsAndNames(refs)
	if want := [][2]string{{one, "one"}, {three, "three"}, {one, "two"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if spent := s.Docs.Commands.Load(); spent != 1 {
		t.Errorf("%d commands", spent)
	}
}

func idsAndNames(entries []names.Entry) [][2]string {
	return evidence.Map(entries, func(entry names.Entry) [2]string { return [2]string{entry.ID, entry.Name} })
}

func TestResolvingManyFlowsFinishesInterruptedChanges(t *testing.T) {
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
	if len(refs) != 2 || refs[0].ID != kept || refs[1].Name != "made" {
		t.Fatalf("got %v", idsAndNames(refs))
	}
	// The flow is read before anything else resolves its name, which would finish its creation too.
	if flow, err := s.Flows.Get(t.Context(), refs[1].ID); err != nil || flow.Name != "made" {
		t.Errorf("made %+v, %v", flow, err)
	}
	made, err := s.Flows.Resolve(t.Context(), "acme", "made")
	if err != nil || made.ID != refs[1].ID {
		t.Errorf("made %s, %v", made.ID, err)
	}
}

func TestFlowNamesAreLimitedToTheirOrganization(t *testing.T) {
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

func TestRenameToATakenNameIsInvalid(t *testing.T) {
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
	named.Summary(s, "acme")
}

func TestPutOfAKnownFlowChangesWhatWasSent(t *testing.T) {
	s := apptest.NewFixture(t)
	for i, description := range []string{"one", "two"} {
		at := float64(i + 1)
		created, flow, err := s.Flows.Put(t.Context(), evidence.Flow{ID: evidence.NewID(), Org: "acme", Name: "ci", Description: description, CreatedAt: at, LastModifiedAt: at})
		s.Must(err)
		stored, err := s.Flows.Get(t.Context(), flow.ID)
		if err != nil || created != (i == 0) || stored.Description != description || stored.CreatedAt != 1 || stored.LastModifiedAt != at {
			t.Errorf("created %t, stored %+v, %v", created, stored, err)
		}
	}
}

func TestArchivedFlowsAreResolvedByTheNamesThatNoOtherFlowCanHave(t *testing.T) {
	s := apptest.NewFixture(t)
	ctx := t.Context()
	first, _, err := s.PutFlow("acme", "one")
	s.Must(err)
	s.Must(s.Flows.Archive(ctx, "acme", "one", 7.5))
	second, _, err := s.PutFlow("acme", "one")
	s.Must(err)
	s.Must(s.Flows.Archive(ctx, "acme", "one", 7.9))
	active, _, err := s.PutFlow("acme", "one-archived-at-9")
	s.Must(err)
	renamed, _, err := s.PutFlow("acme", "former")
	s.Must(err)
	s.Must(s.Flows.Rename(ctx, "acme", "former", "one", 7))
	s.Must(s.Flows.Archive(ctx, "acme", "former", 7))
	s.Restart(0, false)

	all := []string{"one", "one-archived-at-7", "one-archived-at-8", "one-archived-at-9", "one-archived-at-6", "one-archived-at-10"}
	refs, err := s.Flows.ResolveMany(ctx, "acme", all)
	s.Must(err)
	got := idsAndNames(refs)
	if want := [][2]string{{active, all[3]}, {first, all[1]}, {second, all[2]}, {renamed, all[5]}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if spent := s.Docs.Commands.Load(); spent != 2 {
		t.Errorf("%d commands", spent)
	}
	if ref, err := s.Flows.Resolve(ctx, "acme", all[1]); err != nil || ref.ID != first {
		t.Errorf("%s resolves to %s, %v", all[1], ref.ID, err)
	}
	for _, unknown := range []struct{ org, name string }{{"acme", "one"}, {"acme", all[4]}, {"other", all[1]}} {
		if ref, err := s.Flows.Resolve(ctx, unknown.org, unknown.name); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s of %s resolves to %s, %v", unknown.name, unknown.org, ref.ID, err)
		}
	}
	_, _, putErr := s.PutFlow("acme", all[1])
	_, ensureErr := s.Flows.Ensure(ctx, "acme", all[1], "me", 10)
	for what, err := range map[string]error{"put": putErr, "ensured": ensureErr, "renamed": s.Flows.Rename(ctx, "acme", all[3], all[1], 10)} {
		if evidence.CodeOf(err) != evidence.Invalid {
			t.Errorf("a flow with the name is %s: %v", what, err)
		}
	}
}

func TestNamesOfManyArchivedFlowsAreResolvedWithoutAnError(t *testing.T) {
	s := apptest.NewFixture(t)
	var all []string
	for i := range storage.MaxMany + 1 {
		all = append(all, evidence.ArchivedFlowName("f", float64(i)))
	}
	if refs, err := s.Flows.ResolveMany(t.Context(), "acme", all); err != nil || len(refs) != 0 {
		t.Errorf("%d flows, %v", len(refs), err)
	}
}
