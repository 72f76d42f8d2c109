package witness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"attestry/config"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/translog"
	"attestry/evidence/translog/translogtest"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/logs"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
	"attestry/tasks/sequencer"
	"attestry/tasks/witness"
)

const origin = "example.com/acme"

// factSchema is a collection of facts.
var factSchema = &storage.Schema{Name: "artifacts"}

type organizations struct{}

func (organizations) OrganizationOf(_ context.Context, id string) (evidence.Organization, error) {
	return evidence.Organization{ID: id, Name: id}, nil
}

// fixture is a transparency log with its witnesses.
type fixture struct {
	t         *testing.T
	docs      storage.Documents
	objects   storage.Objects
	logs      *logs.Logs
	sequencer *sequencer.Sequencer
	clock     *evidencetest.Clock
	witnesses []*translogtest.Witness
	facts     int
	mu        sync.Mutex
	failures  []string
	output    bytes.Buffer
}

func newFixture(t *testing.T, witnesses ...string) *fixture {
	t.Helper()
	folder := t.TempDir()
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	evidencetest.Must(t, err)
	keys := translogtest.NewKeys(t)
	f := &fixture{t: t, objects: objects, clock: evidencetest.NewClock(time.Unix(1_800_000_000, 0))}
	f.docs = pebbletest.Open(t, filepath.Join(folder, "documents"), append(logs.Schemas(), factSchema))
	f.logs = logs.New(f.docs, objects)
	f.sequencer = sequencer.New(f.logs, keys, organizations{}, "example.com", f.clock.Now)
	verifiers := keys.Verifiers(origin)
	for _, name := range witnesses {
		made := translogtest.NewWitness(t, name)
		made.Trust(origin, verifiers...)
		f.witnesses = append(f.witnesses, made)
	}
	return f
}

// sign adds facts and signs a checkpoint.
func (f *fixture) sign(count int) {
	f.t.Helper()
	var writes []storage.Write
	for range count {
		f.facts++
		record := storage.Record{ID: fmt.Sprint(f.facts), Revision: 1, Body: []byte(`{"org":"acme"}`)}
		writes = append(writes, storage.Write{Kind: storage.WriteInsert, Schema: factSchema, Record: record})
	}
	evidencetest.Must(f.t, logs.NewDocuments(f.docs, f.clock.Now).Write(f.t.Context(), writes...))
	f.clock.Advance(2 * time.Second)
	evidencetest.Must(f.t, f.sequencer.Sequence(f.t.Context(), "acme"))
}

// ask has a new asker ask the witnesses.
func (f *fixture) ask() {
	f.t.Helper()
	evidencetest.Must(f.t, f.askWith(f.logs))
}

// askWith has a new asker of some logs ask the witnesses, and collects its log output and the failures that it counts.
func (f *fixture) askWith(of *logs.Logs) error {
	f.t.Helper()
	settings := evidence.Map(f.witnesses, func(witness *translogtest.Witness) string { return witness.Setting() })
	var witnesses config.Witnesses
	evidencetest.Must(f.t, witnesses.UnmarshalText([]byte(strings.Join(settings, ","))))
	f.output.Reset()
	f.failures = nil
	asker := witness.New(of, witnesses, http.DefaultClient, f.clock.Now, slog.New(slog.NewTextHandler(&f.output, nil)), func(name, reason string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.failures = append(f.failures, name+" "+reason)
	})
	return asker.Ask(f.t.Context(), "acme")
}

func (f *fixture) log() logs.Log {
	f.t.Helper()
	log, err := f.logs.Get(f.t.Context(), "acme")
	evidencetest.Must(f.t, err)
	return log
}

// cosigners returns the names of the witnesses with a valid cosignature on a signed checkpoint.
func (f *fixture) cosigners(signed string) (names []string) {
	f.t.Helper()
	for _, witness := range f.witnesses {
		key, err := translog.ParseWitnessKey(witness.Key)
		evidencetest.Must(f.t, err)
		if opened, err := note.Open([]byte(signed), note.VerifierList(key)); err == nil {
			names = append(names, opened.Sigs[0].Name)
		}
	}
	return names
}

// due returns after how many seconds witnesses are asked next, -1 if none is to be asked within a day.
func (f *fixture) due() float64 {
	f.t.Helper()
	refs, _, err := f.logs.Uncosigned(f.t.Context(), evidence.Seconds(f.clock.Now().Add(24*time.Hour)), "")
	evidencetest.Must(f.t, err)
	if len(refs) == 0 {
		return -1
	}
	return refs[0].Due - evidence.Seconds(f.clock.Now())
}

func (f *fixture) want(what string, cosigners, failures []string) {
	f.t.Helper()
	log := f.log()
	if got := f.cosigners(log.Checkpoint); fmt.Sprint(got) != fmt.Sprint(cosigners) {
		f.t.Errorf("%s: the checkpoint is cosigned by %v, want %v:\n%s", what, got, cosigners, log.Checkpoint)
	}
	if fmt.Sprint(f.failures) != fmt.Sprint(failures) {
		f.t.Errorf("%s: failures %v, want %v\n%s", what, f.failures, failures, f.output.String())
	}
	if _, err := translogtest.OpenCheckpoint(log.Checkpoint, log.Verifiers...); err != nil {
		f.t.Errorf("%s: %v", what, err)
	}
}

func TestWitnessesCosignEachCheckpoint(t *testing.T) {
	f := newFixture(t, "w1", "w2")
	for round := range 4 {
		f.sign(1 + 300*round)
		if f.due() > 0 {
			t.Errorf("witnesses are asked in %v s", f.due())
		}
		f.ask()
		f.want(fmt.Sprint("round ", round), []string{"w1", "w2"}, nil)
		if f.due() != -1 || f.witnesses[0].Known(origin).Size != f.log().Signed {
			t.Errorf("witnesses are due in %v s, and know %+v", f.due(), f.witnesses[0].Known(origin))
		}
	}
	asked := f.witnesses[0].Asked()
	f.ask()
	f.want("asked once more", []string{"w1", "w2"}, nil)
	if f.witnesses[0].Asked() != asked || asked != 4 {
		t.Errorf("%d requests, %d before", f.witnesses[0].Asked(), asked)
	}
}

func TestAWitnessThatFailsIsAskedAgain(t *testing.T) {
	f := newFixture(t, "w1", "w2")
	failing := true
	f.witnesses[1].Intercept = func(w http.ResponseWriter, _ *http.Request) bool {
		if failing {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return failing
	}
	f.sign(1)
	last := 0.0
	for range 6 {
		f.ask()
		f.want("failing", []string{"w1"}, []string{"w2 failed"})
		if due := f.due(); due < 1.2*last || due < 0.7 {
			t.Errorf("the pause is %v s, after one of %v s", due, last)
		}
		last = f.due()
		f.clock.Advance(time.Duration(last*float64(time.Second)) + time.Millisecond)
	}
	f.ask() // fails once more
	asked := f.witnesses[1].Asked()
	f.sign(1)
	f.ask()
	f.want("during the pause", []string{"w1"}, nil)
	if f.witnesses[1].Asked() != asked || f.due() <= 0 {
		t.Errorf("it was asked %d times, %d before, and is due in %v s", f.witnesses[1].Asked(), asked, f.due())
	}
	failing = false
	f.clock.Advance(5 * time.Minute)
	f.ask()
	f.want("back", []string{"w1", "w2"}, nil)
	if f.due() != -1 {
		t.Errorf("due in %v s", f.due())
	}
}

func TestAStoppedWitnessIsAFailure(t *testing.T) {
	f := newFixture(t, "w1", "w2")
	f.witnesses[0].Stop()
	f.sign(1)
	f.ask()
	f.want("stopped", []string{"w2"}, []string{"w1 failed"})
	if output := f.output.String(); !strings.Contains(output, "/add-checkpoint") { // the error of the request
		t.Error(output)
	}
}

func TestARequestIsRepeatedWithTheSizeThatTheWitnessAnswers(t *testing.T) {
	f := newFixture(t, "w1")
	f.sign(300)
	earlier, err := translog.ParseCheckpoint(f.log().Checkpoint)
	evidencetest.Must(t, err)
	f.sign(300)
	f.witnesses[0].Learn(earlier)
	f.ask()
	f.want("the witness knows a larger size", []string{"w1"}, nil)
	f.sign(5)
	f.witnesses[0].Learn(earlier)
	f.ask()
	f.want("the witness knows a smaller size", []string{"w1"}, nil)
	f.witnesses[0].Learn(translog.Checkpoint{Origin: origin})
	f.sign(1)
	f.ask()
	f.want("the witness has lost its state", []string{"w1"}, nil)
	if f.witnesses[0].Asked() != 6 {
		t.Errorf("%d requests", f.witnesses[0].Asked())
	}
}

func TestAForkIsReported(t *testing.T) {
	for name, learn := range map[string]func(known *translog.Checkpoint){
		"another root":   func(known *translog.Checkpoint) { known.Root[0]++ },
		"a larger size":  func(known *translog.Checkpoint) { known.Size = 1000 },
		"an earlier one": func(known *translog.Checkpoint) { known.Size = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "w1", "w2")
			f.sign(10)
			known, err := translog.ParseCheckpoint(f.log().Checkpoint)
			evidencetest.Must(t, err)
			learn(&known)
			f.witnesses[0].Learn(known)
			f.ask()
			f.want("forked", []string{"w2"}, []string{"w1 fork"})
			if output := f.output.String(); !strings.Contains(output, "level=ERROR") || !strings.Contains(output, "fork") || !strings.Contains(output, "w1") || !strings.Contains(output, origin) {
				t.Error(output)
			}
		})
	}
}

// unreadable is an object store whose reads fail.
type unreadable struct{ storage.Objects }

func (unreadable) Get(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return nil, errors.New("a fault of a test")
}

func TestAProofThatCannotBeReadIsNoFork(t *testing.T) {
	f := newFixture(t, "w1")
	f.sign(100)
	f.ask()
	f.sign(156) // completes a tile, which is an object
	evidencetest.Must(t, f.askWith(logs.New(f.docs, unreadable{f.objects})))
	f.want("unreadable", nil, []string{"w1 failed"})
	f.clock.Advance(time.Hour)
	f.ask()
	f.want("readable again", []string{"w1"}, nil)
}

// overtake has the first witness cosign a later checkpoint before the next request arrives.
func (f *fixture) overtake() {
	var once sync.Once
	f.witnesses[0].Intercept = func(http.ResponseWriter, *http.Request) bool {
		once.Do(func() {
			f.sign(5)
			later, err := translog.ParseCheckpoint(f.log().Checkpoint)
			evidencetest.Must(f.t, err)
			f.witnesses[0].Learn(later)
		})
		return false
	}
}

// TestAFailureOfTheStoreIsNoFork has each command of an asker fail once. In the second case the witness has cosigned a
// later checkpoint meanwhile, so the log is read again.
func TestAFailureOfTheStoreIsNoFork(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		f := newFixture(t, "w1")
		f.sign(10)
		f.ask()
		for at, reached := 1, true; reached; at++ {
			f.clock.Advance(time.Hour)
			f.sign(3)
			f.witnesses[0].Intercept = nil
			if overtaken {
				f.overtake()
			}
			faulty := storagetest.NewFaultInjector(f.docs, storagetest.Fault{At: at, Err: errors.New("a fault of a test")})
			err := f.askWith(logs.New(faulty, f.objects))
			reached = faulty.Reached.Load()
			if noticed := err != nil || len(f.failures) > 0; slices.Contains(f.failures, "w1 fork") || noticed != (reached || overtaken) {
				t.Errorf("overtaken %v, failure of command %d: %v, failures %v", overtaken, at, err, f.failures)
			}
		}
	}
}

// TestAnOvertakenCheckpointIsNoFork has a witness cosign a later checkpoint before the request for an earlier one
// arrives.
func TestAnOvertakenCheckpointIsNoFork(t *testing.T) {
	f := newFixture(t, "w1")
	f.sign(10)
	f.overtake()
	f.ask()
	f.want("overtaken", nil, []string{"w1 failed"})
	if output := f.output.String(); strings.Contains(output, "level=ERROR") {
		t.Error(output)
	}
	if f.due() == -1 {
		t.Error("the witness is not asked for the later checkpoint")
	}
}

func TestInvalidCosignaturesAreNotPublished(t *testing.T) {
	for name, row := range map[string]struct {
		answer func(f *fixture, text string) string
	}{
		"of another text": {func(f *fixture, text string) string { return f.witnesses[0].Cosign(text+"more\n", f.clock.Now()) }},
		"of another key":  {func(f *fixture, text string) string { return f.witnesses[1].Cosign(text, f.clock.Now()) }},
		"no signature":    {func(*fixture, string) string { return "hello\n" }},
		"nothing":         {func(*fixture, string) string { return "" }},
		"too long":        {func(*fixture, string) string { return strings.Repeat("— w1 AAAA\n", 10_000) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "w1", "w2")
			f.sign(2)
			before := f.log().Checkpoint
			text, _, _ := strings.Cut(before, "\n\n")
			f.witnesses[0].Intercept = func(w http.ResponseWriter, _ *http.Request) bool {
				_, _ = w.Write([]byte(row.answer(f, text+"\n")))
				return true
			}
			f.ask()
			f.want(name, []string{"w2"}, []string{"w1 failed"})
			if after := f.log().Checkpoint; strings.Contains(after, "— w1 ") || !strings.HasPrefix(after, before) {
				t.Error(after)
			}
		})
	}
}

func TestOtherAnswersAreFailures(t *testing.T) {
	for name, row := range map[string]struct {
		status int
		body   string
	}{
		"the log is unknown":           {http.StatusNotFound, ""},
		"the key is unknown":           {http.StatusForbidden, ""},
		"the request is wrong":         {http.StatusBadRequest, ""},
		"redirect":                     {http.StatusFound, ""},
		"too many requests":            {http.StatusTooManyRequests, ""},
		"another size, without a type": {http.StatusConflict, "1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "w1")
			f.witnesses[0].Intercept = func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(row.status)
				_, _ = w.Write([]byte(row.body))
				return true
			}
			f.sign(2)
			f.ask()
			f.want(name, nil, []string{"w1 failed"})
		})
	}
}

func TestASlowWitnessDelaysNeitherOthersNorTheNextCheckpoint(t *testing.T) {
	f := newFixture(t, "w1", "w2")
	began, asked := make(chan struct{}), make(chan struct{})
	f.witnesses[0].Intercept = func(http.ResponseWriter, *http.Request) bool {
		close(began)
		<-asked
		return false
	}
	f.sign(3)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.ask()
	}()
	<-began
	for len(f.cosigners(f.log().Checkpoint)) == 0 && t.Context().Err() == nil { // until w2 has cosigned
		time.Sleep(time.Millisecond)
	}
	f.want("while it is asked", []string{"w2"}, nil)
	f.sign(4)
	f.want("signed anew", nil, nil)
	close(asked)
	<-done
	f.want("the old one was cosigned", nil, nil)
	if f.due() > 0 || f.due() == -1 {
		t.Errorf("the new one is due in %v s", f.due())
	}
	record, err := f.docs.Get(t.Context(), &storage.Schema{Name: "log_notes"}, "acme/3")
	evidencetest.Must(t, err)
	if !strings.Contains(string(record.Body), "— w1 ") || !strings.Contains(string(record.Body), "— w2 ") {
		t.Errorf("the checkpoint is stored as %s", record.Body)
	}
	f.witnesses[0].Intercept = nil
	f.ask()
	f.want("asked again", []string{"w1", "w2"}, nil)
}
