package recording_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
	"attestry/storage/storagetest"
)

// clockFixture has a flow in which processes whose clocks disagree record one fact after the other.
type clockFixture struct {
	*apptest.Fixture
	flow string
	// stores are those of the processes, which take turns. clock returns the time of a turn, in Unix seconds.
	stores []*app.Store
	clock  func(turn int) float64
	turn   int
}

// disagreeing has clocks by which a later turn may have an earlier time.
var disagreeing = map[string]struct {
	processes int
	clock     func(turn int) float64
}{
	"a clock is set back by ten minutes": {1, func(turn int) float64 { return 10_000 - float64(600*turn) }},
	"clocks differ by an hour":           {2, func(turn int) float64 { return 10_000 + float64(turn) - float64(3600*(turn%2)) }},
}

const clockTemplate = `
version: 1
trail:
  attestations:
    - {name: later, type: generic}
`

func newClockFixture(t *testing.T, processes int, clock func(int) float64) *clockFixture {
	t.Helper()
	s := &clockFixture{Fixture: apptest.NewFixture(t), clock: clock}
	for range processes {
		store := app.NewStore(s.Db, s.Objs, time.Now, slog.New(slog.NewTextHandler(io.Discard, nil)))
		t.Cleanup(store.Tenancy.Close)
		s.stores = append(s.stores, store)
	}
	flow, _, err := s.PutFlow("org", "flow")
	s.Must(err)
	s.flow = flow
	return s
}

// next begins a turn. It returns the store of its process, and a scope with its time.
func (s *clockFixture) next(flow, trail string) (*app.Store, recording.Scope) {
	store, at := s.stores[s.turn%len(s.stores)], s.clock(s.turn)
	s.turn++
	return store, recording.Scope{Org: "org", OrgName: "org", Flow: flow, Trail: trail, By: "me", ByID: "me", At: at}
}

func (s *clockFixture) begin(trail string, change evidence.TrailChange) {
	s.T.Helper()
	store, scope := s.next("flow", trail)
	_, err := store.Recorder.Begin(s.T.Context(), scope, s.flow, change, nil)
	s.Must(err)
}

// attest attests x of the trail, unless complete changes that, and returns the id.
func (s *clockFixture) attest(trail string, compliant bool, complete func(*evidence.Attestation)) string {
	s.T.Helper()
	store, scope := s.next("flow", trail)
	a := evidence.Attestation{
		ID: fmt.Sprint("a", 900-s.turn), Org: "org", Trail: trail, Name: "x", Type: evidence.TypeGeneric, Compliant: compliant, CreatedAt: scope.At,
	}
	if complete != nil {
		complete(&a)
	}
	record := store.Recorder.Attest
	if a.Override != nil {
		record = store.Recorder.Override
	}
	s.Must(record(s.T.Context(), scope, a, nil))
	return a.ID
}

// report reports an artifact under the name app, and returns the id of its record.
func (s *clockFixture) report(flow, trail, fingerprint string) string {
	s.T.Helper()
	store, scope := s.next(flow, trail)
	id := fmt.Sprint("r", 900-s.turn) // later records have smaller ids
	s.Must(store.Recorder.Report(s.T.Context(), scope, evidence.ArtifactRecord{
		ID: id, Org: "org", Trail: trail, Name: "app", Fingerprint: fingerprint, Filename: "app", CreatedAt: scope.At,
		Commit: &evidence.GitCommit{Branch: new("main")},
	}, nil))
	return id
}

// counts checks the status of a trail, and that the attestation of an id counts in it or, unless ofTrail, in its
// artifact app.
func (s *clockFixture) counts(trail string, status evidence.Status, id string, ofTrail bool) {
	s.T.Helper()
	got, err := s.Trails.Get(s.T.Context(), s.flow, trail)
	s.Must(err)
	entries := got.Entries
	if !ofTrail {
		slots, err := s.Slots.OfTrail(s.T.Context(), got.Key(), []string{"app"})
		s.Must(err)
		slot := slots["app"]
		entries = slot.Shown()
	}
	if got.Status != status || len(entries) != 1 || entries[0].ID != id {
		s.T.Errorf("turn %d: the trail is %s by %+v, want %s by %s", s.turn, got.Status, entries, status, id)
	}
}

func byFingerprint(a *evidence.Attestation) { a.Fingerprint = apptest.Sha("1", 64) }
func byName(a *evidence.Attestation)        { a.Targets = []string{"app"} }
func override(a *evidence.Attestation)      { a.Override = &evidence.Override{Reason: "because"} }

// stories record facts of which the last one must count.
var stories = map[string]func(s *clockFixture){
	"of the trail": func(s *clockFixture) {
		s.counts("t", evidence.Compliant, s.attest("t", true, nil), true)
		s.counts("t", evidence.NonCompliant, s.attest("t", false, nil), true)
		s.counts("t", evidence.Compliant, s.attest("t", true, nil), true)
	},
	"by name": func(s *clockFixture) {
		s.report("flow", "t", apptest.Sha("1", 64))
		s.counts("t", evidence.Compliant, s.attest("t", true, byName), false)
		s.counts("t", evidence.NonCompliant, s.attest("t", false, byName), false)
		s.counts("t", evidence.Compliant, s.attest("t", true, byName), false)
	},
	"by fingerprint": func(s *clockFixture) {
		s.report("flow", "t", apptest.Sha("1", 64))
		s.counts("t", evidence.Compliant, s.attest("t", true, byFingerprint), false)
		s.counts("t", evidence.NonCompliant, s.attest("t", false, byFingerprint), false)
		s.counts("t", evidence.Compliant, s.attest("t", true, byFingerprint), false)
	},
	"by name and by fingerprint": func(s *clockFixture) {
		s.report("flow", "t", apptest.Sha("1", 64))
		s.counts("t", evidence.Compliant, s.attest("t", true, byName), false)
		s.counts("t", evidence.NonCompliant, s.attest("t", false, byFingerprint), false)
		s.counts("t", evidence.Compliant, s.attest("t", true, byName), false)
	},
	"overrides": func(s *clockFixture) {
		s.counts("t", evidence.NonCompliant, s.attest("t", false, nil), true)
		s.counts("t", evidence.Compliant, s.attest("t", true, override), true)
		s.counts("t", evidence.NonCompliant, s.attest("t", false, override), true)
		s.counts("t", evidence.Compliant, s.attest("t", true, nil), true)
		s.counts("t", evidence.NonCompliant, s.attest("t", false, override), true)
	},
	"artifacts of a name": func(s *clockFixture) {
		for _, digits := range []string{"1", "2", "1", "3"} {
			id := s.report("flow", "t", apptest.Sha(digits, 64))
			trail, err := s.Trails.Get(s.T.Context(), s.flow, "t")
			s.Must(err)
			if got := trail.Slots["app"]; got.Record != id || got.Fingerprint != apptest.Sha(digits, 64) {
				s.T.Errorf("turn %d: %s of %s counts, not %s", s.turn, got.Record, got.Fingerprint, id)
			}
		}
	},
	"reports of a fingerprint in trails of a flow": func(s *clockFixture) {
		first := ""
		for _, trail := range []string{"t", "u", "t", "v", "u"} {
			id := s.report("flow", trail, apptest.Sha("1", 64))
			if first == "" {
				first = id
			}
			newest, err := s.Artifacts.Latest(s.T.Context(), "org", s.flow, "", apptest.Sha("1", 64))
			s.Must(err)
			origins, build := s.origins(apptest.Sha("1", 64))
			if newest.ID != id || len(origins) != 1 || origins[0].Record != id || origins[0].Trail != trail || build != first {
				s.T.Errorf("turn %d: %s is the newest, %+v the origin, %s the build, want %s", s.turn, newest.ID, origins, build, id)
			}
		}
	},
	"reports of a fingerprint in several flows": func(s *clockFixture) {
		var ids []string
		for _, flow := range []string{"flow", "other", "third", "fourth"} {
			ids = append(ids, s.report(flow, "t", apptest.Sha("1", 64)))
			origins, build := s.origins(apptest.Sha("1", 64))
			got := evidence.Map(origins, func(origin evidence.Origin) string { return origin.Record })
			if !slices.Equal(got, ids) || build != ids[0] {
				s.T.Errorf("turn %d: origins %v, the build %s, want %v", s.turn, got, build, ids)
			}
		}
	},
	"decisions on a control in several trails": func(s *clockFixture) {
		s.report("flow", "t", apptest.Sha("1", 64))
		for i, trail := range []string{"t", "u", "v", "t"} {
			id := s.attest(trail, i%2 == 0, func(a *evidence.Attestation) {
				a.Fingerprint, a.Type, a.Control = apptest.Sha("1", 64), evidence.TypeDecision, "ctl"
			})
			if got := s.decision("org/ctl/" + apptest.Sha("1", 64)); got.ID != id {
				s.T.Errorf("turn %d: %s decides, want %s", s.turn, got.ID, id)
			}
		}
		ofTrail := s.attest("w", false, func(a *evidence.Attestation) { a.Type, a.Control = evidence.TypeDecision, "ctl" })
		made, before := s.decision("org/ctl/"+s.flow+"/w"), s.decision("org/ctl/"+apptest.Sha("1", 64))
		if made.ID != ofTrail || made.Time <= before.Time {
			s.T.Errorf("decision %+v is not later than %+v", made, before)
		}
	},
	"trails of a flow": func(s *clockFixture) {
		for _, name := range []string{"t", "u", "v", "w"} {
			s.begin(name, evidence.TrailChange{})
			latest, err := s.Trails.Latest(s.T.Context(), []string{s.flow})
			s.Must(err)
			batches, err := s.Trails.List(s.T.Context(), pipelines.TrailQuery{Org: "org", Limit: 1})
			s.Must(err)
			listed, err := batches.Next(s.T.Context(), math.MaxInt)
			s.Must(err)
			if latest[s.flow].Name != name || listed[0].Name != name {
				s.T.Errorf("turn %d: %s is the latest, %s comes first, want %s", s.turn, latest[s.flow].Name, listed[0].Name, name)
			}
		}
	},
	"artifacts of new trails": func(s *clockFixture) {
		for _, name := range []string{"t", "u", "v", "w"} {
			id := s.report("flow", name, apptest.Sha(fmt.Sprint(s.turn), 64))
			newest, err := s.Artifacts.LatestOfFlow(s.T.Context(), "org", s.flow, "")
			s.Must(err)
			if newest.ID != id {
				s.T.Errorf("turn %d: the newest of the flow is %s, want %s", s.turn, newest.ID, id)
			}
		}
	},
	"artifacts of existing trails, in turn": func(s *clockFixture) {
		s.begin("t", evidence.TrailChange{})
		s.begin("u", evidence.TrailChange{})
		for _, name := range []string{"t", "u", "t", "u", "t"} {
			id := s.report("flow", name, apptest.Sha("abcde"+fmt.Sprint(s.turn), 64))
			newest, err := s.Artifacts.LatestOfFlow(s.T.Context(), "org", s.flow, "main")
			s.Must(err)
			alike, err := s.Artifacts.LatestOnBranch(s.T.Context(), "org", s.flow, "main", "abcde")
			s.Must(err)
			if newest.ID != id || alike.ID != id {
				s.T.Errorf("turn %d: the newest of the flow is %s, of the digits %s, want %s", s.turn, newest.ID, alike.ID, id)
			}
		}
	},
	"events of a trail": func(s *clockFixture) {
		s.begin("t", evidence.TrailChange{})
		s.attest("t", true, nil)
		own, err := s.Templates.Put(s.T.Context(), "org", []byte(clockTemplate))
		s.Must(err)
		s.begin("t", evidence.TrailChange{Template: own})
		s.report("flow", "t", apptest.Sha("1", 64))
		s.begin("t", evidence.TrailChange{Description: new("changed")})
		s.attest("t", true, byFingerprint)
		trail, err := s.Trails.Get(s.T.Context(), s.flow, "t")
		s.Must(err)
		events, err := s.Trails.Events(s.T.Context(), &trail)
		s.Must(err)
		var got []string
		for i, event := range events {
			got = append(got, event.Type)
			if i > 0 && event.Time <= events[i-1].Time {
				s.T.Errorf("event %d is of %.7f, the previous one of %.7f", i, event.Time, events[i-1].Time)
			}
		}
		want := "trail_reported trail_attestation_reported trail_updated artifact_creation_reported trail_updated artifact_attestation_reported"
		if strings.Join(got, " ") != want || trail.EvaluatedAt != events[len(events)-1].Time {
			s.T.Errorf("evaluated at %v, events %v", trail.EvaluatedAt, got)
		}
	},
}

// origins returns the origins of a fingerprint, and the record of its build.
func (s *clockFixture) origins(fingerprint string) ([]evidence.Origin, string) {
	s.T.Helper()
	found, err := s.Provenances.GetMany(s.T.Context(), "org", []string{fingerprint})
	s.Must(err)
	return found[0].Origins(), found[0].Build.Record
}

// decision returns the latest decision, by the id of its document.
func (s *clockFixture) decision(id string) evidence.Entry {
	s.T.Helper()
	schemas := app.Schemas()
	at := slices.IndexFunc(schemas, func(schema *storage.Schema) bool { return schema.Name == "decisions" })
	record, err := s.Db.Get(s.T.Context(), schemas[at], id)
	s.Must(err)
	var decision pipelines.Decision
	s.Must(json.Unmarshal(record.Body, &decision))
	return decision.Entry
}

func TestLaterRecordsCountDespiteWrongClocks(t *testing.T) {
	for clocks, c := range disagreeing {
		for name, story := range stories {
			t.Run(clocks+"/"+name, func(t *testing.T) { story(newClockFixture(t, c.processes, c.clock)) })
		}
	}
}

// stuckTrails is an engine that fails to change trails.
type stuckTrails struct{ storage.Documents }

// Write does the writes before the first change of a trail.
func (d stuckTrails) Write(ctx context.Context, writes ...storage.Write) error {
	for i, write := range writes {
		if write.Schema.Name == "trails" && write.Kind == storage.WriteReplace {
			return errors.Join(d.Documents.Write(ctx, writes[:i]...), storagetest.ErrKilled)
		}
	}
	return d.Documents.Write(ctx, writes...)
}

// TestOverrideIsLaterThanUnreflectedAttestations overrides, by a clock that is an hour behind, an attestation whose
// process was killed before it changed the trail.
func TestOverrideIsLaterThanUnreflectedAttestations(t *testing.T) {
	s := newClockFixture(t, 2, func(turn int) float64 { return []float64{1000, 1001, 10_000, 6400}[turn] })
	s.report("flow", "t", apptest.Sha("1", 64))
	s.attest("t", true, byName)
	killed := app.NewStore(stuckTrails{s.Db}, s.Objs, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(killed.Tenancy.Close)
	_, scope := s.next("flow", "t")
	original := evidence.Attestation{
		ID: "original", Org: "org", Trail: "t", Name: "x", Type: evidence.TypeGeneric, Targets: []string{"app"}, CreatedAt: scope.At,
	}
	if err := killed.Recorder.Attest(t.Context(), scope, original, nil); !errors.Is(err, storagetest.ErrKilled) {
		t.Fatalf("got %v, want ErrKilled", err)
	}
	id := s.attest("t", true, func(a *evidence.Attestation) { byName(a); override(a) })
	s.counts("t", evidence.Compliant, id, false)
	made, err := s.Attestations.Get(t.Context(), "org", id)
	s.Must(err)
	if made.Override.Original != original.ID {
		t.Errorf("the override has the original %s", made.Override.Original)
	}
}

// TestReconcilerReadsEachFactAFewTimes repeats passes of the reconciler until one reads no facts.
func TestReconcilerReadsEachFactAFewTimes(t *testing.T) {
	s := newClockFixture(t, 1, func(turn int) float64 { return 10_000 + float64(turn) })
	for range 10 {
		s.attest("t", true, nil)
	}
	passes := 0
	for ; ; passes++ {
		before := s.Docs.Commands.Load()
		if applied, err := s.Recorder.Reconcile(t.Context(), "org", 20_000); err != nil || applied != 0 {
			t.Fatalf("applied %d: %v", applied, err)
		}
		if took := s.Docs.Commands.Load() - before; took == 4 { // the mark, and no facts of three kinds
			break
		} else if passes > 10 {
			t.Fatalf("pass %d still takes %d commands", passes, took)
		}
	}
	if passes != 4 {
		t.Errorf("%d passes read the same facts", passes)
	}
}
