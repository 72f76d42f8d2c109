package sequencer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/mod/sumdb/tlog"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/evidence/translog"
	"attestry/evidence/translog/translogtest"
	"attestry/storage"
	"attestry/storage/guard"
	"attestry/storage/logs"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/retention"
	"attestry/storage/storagetest"
	"attestry/tasks/sequencer"
)

// retained is an object store that records the keys given to Retain, and the days of the last call.
type retained struct {
	storage.Objects
	f    *fixture
	keys []string
	days float64
	err  error
}

func (r *retained) Retain(_ context.Context, key string, until time.Time) error {
	r.keys = append(r.keys, key)
	r.days = until.Sub(r.f.clock.Now()).Hours() / 24
	return r.err
}

// retention retains objects of the organization acme for a year, and no others.
func (r *retained) retention() *retention.Retention {
	return retention.New(r, config.Retention{Organizations: map[string]int{"name-of-acme": 365}}, r.f.clock.Now)
}

func (f *fixture) noRetention() *retention.Retention {
	return retention.New(f.objs, config.Retention{}, f.clock.Now)
}

// backup copies the current documents of the fixture into another database.
func (f *fixture) backup() storage.Documents {
	f.t.Helper()
	schemas := append(logs.Schemas(), factSchema)
	copied := pebbletest.Open(f.t, filepath.Join(f.t.TempDir(), "documents"), schemas)
	for _, schema := range schemas {
		page, err := f.docs.List(f.t.Context(), schema, "", storage.MaxMany, 64<<20)
		evidencetest.Must(f.t, err)
		for len(page) > 0 {
			evidencetest.Must(f.t, storagetest.Put(f.t.Context(), copied, schema, page...))
			page, err = f.docs.List(f.t.Context(), schema, page[len(page)-1].ID, storage.MaxMany, 64<<20)
			evidencetest.Must(f.t, err)
		}
	}
	return copied
}

// keptKeys returns the keys of the checkpoints in the object store.
func (f *fixture) keptKeys() (keys []string) {
	f.t.Helper()
	page, err := f.objs.List(f.t.Context(), "log-checkpoints.", storage.MaxMany)
	evidencetest.Must(f.t, err)
	for _, object := range page {
		if strings.HasPrefix(object.Key, "log-checkpoints.") {
			keys = append(keys, object.Key)
		}
	}
	return keys
}

// sequenceAndKeep runs a new sequencer once and keeps its checkpoint, like a worker that starts and stops again.
func (f *fixture) sequenceAndKeep() *logs.Logs {
	f.t.Helper()
	repository := logs.New(f.docs, f.objs)
	worker := sequencer.New(repository, f.keys, organizations{}, "example.com", f.clock.Now)
	evidencetest.Must(f.t, worker.Sequence(f.t.Context(), "acme"))
	evidencetest.Must(f.t, worker.Keep(f.t.Context(), f.noRetention()))
	return repository
}

func (f *fixture) log() logs.Log {
	f.t.Helper()
	log, err := logs.New(f.docs, f.objs).Get(f.t.Context(), "acme")
	evidencetest.Must(f.t, err)
	return log
}

func TestOnlyTheLastCheckpointIsKept(t *testing.T) {
	f := newFixture(t)
	worker := f.process(f.docs, f.objs)
	repository := logs.New(f.docs, f.objs)
	kept := &retained{Objects: f.objs, f: f}
	for round := range 5 {
		f.add("acme", 100)
		evidencetest.Must(t, worker.Sequence(t.Context(), "acme"))
		evidencetest.Must(t, worker.Keep(t.Context(), kept.retention()))
		last, key, err := repository.LastKept(t.Context(), "acme")
		if log := f.log(); err != nil || last.Note != log.Checkpoint || last.Size != log.Signed || last.Size != int64(100*round+100) {
			t.Errorf("kept %+v: %v", last, err)
		}
		if keys := f.keptKeys(); !slices.Equal(keys, []string{key}) {
			t.Errorf("%d checkpoints are in the object store", len(keys))
		}
	}
	if len(kept.keys) != 1 {
		t.Errorf("%d checkpoints were retained", len(kept.keys))
	}
	f.clock.Advance(24 * time.Hour)
	f.add("acme", 1)
	evidencetest.Must(t, worker.Sequence(t.Context(), "acme"))
	evidencetest.Must(t, worker.Keep(t.Context(), kept.retention()))
	evidencetest.Must(t, worker.Keep(t.Context(), (&retained{Objects: f.objs, f: f, err: errors.New("retained without a new checkpoint")}).retention()))
	if kept.days < 29.9 || kept.days > 30 {
		t.Errorf("retained for %v days", kept.days)
	}
	if len(kept.keys) != 2 || !slices.Contains(f.keptKeys(), kept.keys[1]) {
		t.Errorf("retained %v", kept.keys)
	}
}

// beforeGet is an object store that calls a function before each object is read.
type beforeGet struct {
	storage.Objects
	do func()
}

func (b *beforeGet) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	b.do()
	return b.Objects.Get(ctx, key, offset, length)
}

func TestACheckpointThatAnotherProcessReadsIsNotDeleted(t *testing.T) {
	f := newFixture(t)
	worker := f.process(f.docs, f.objs)
	next := func() {
		f.add("acme", 1)
		evidencetest.Must(t, worker.Sequence(t.Context(), "acme"))
		evidencetest.Must(t, worker.Keep(t.Context(), f.noRetention()))
	}
	next()
	last, _, err := logs.New(f.docs, &beforeGet{f.objs, next}).LastKept(t.Context(), "acme")
	if err != nil || last.Size == 0 {
		t.Errorf("read %+v: %v", last, err)
	}
}

func TestCheckpointsThatWereReplacedDuringABackupAreDeletedWithinADay(t *testing.T) {
	f := newFixture(t)
	objects := guard.New(f.clock.Now, slog.New(slog.DiscardHandler), prometheus.NewRegistry()).Objects(f.objs)
	worker := f.process(f.docs, objects)
	release := objects.(interface{ HoldDeletions() func() }).HoldDeletions()
	next := func() {
		f.add("acme", 1)
		evidencetest.Must(t, worker.Sequence(t.Context(), "acme"))
		evidencetest.Must(t, worker.Keep(t.Context(), f.noRetention()))
	}
	for range 5 {
		next()
	}
	release()
	f.clock.Advance(24 * time.Hour)
	next()
	if keys := f.keptKeys(); len(keys) != 1 {
		t.Errorf("%d checkpoints are in the object store", len(keys))
	}
}

func TestKeepingACheckpointIsRetriedAfterAFailure(t *testing.T) {
	unreachable := errors.New("unreachable")
	for name, fail := range map[string]func(names *organizations, kept *retained, err error){
		"of the organization": func(names *organizations, _ *retained, err error) { names.err = err },
		"of the retention":    func(_ *organizations, kept *retained, err error) { kept.err = err },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			names, kept := &organizations{}, &retained{Objects: f.objs, f: f}
			worker := sequencer.New(logs.New(f.docs, f.objs), f.keys, names, "example.com", f.clock.Now)
			f.add("acme", 1)
			evidencetest.Must(t, worker.Sequence(t.Context(), "acme"))
			fail(names, kept, unreachable)
			evidencetest.Is(t, worker.Keep(t.Context(), kept.retention()), unreachable)
			fail(names, kept, nil)
			kept.keys = nil
			evidencetest.Must(t, worker.Keep(t.Context(), kept.retention()))
			if len(kept.keys) != 1 {
				t.Errorf("retained %v", kept.keys)
			}
		})
	}
}

// refusing is an object store whose Put fails for a scope.
type refusing struct {
	storage.Objects
	scope string
	err   error
}

func (u *refusing) Put(ctx context.Context, scope string, content io.Reader, size int64) (storage.Object, error) {
	if scope == u.scope {
		return storage.Object{}, u.err
	}
	return u.Objects.Put(ctx, scope, content, size)
}

func TestACheckpointThatCannotBeKeptDelaysNoOther(t *testing.T) {
	f := newFixture(t)
	refused := errors.New("refused")
	objects := &refusing{Objects: f.objs, scope: "log-checkpoints.org-7", err: refused}
	worker := f.process(f.docs, objects)
	for i := range 10 {
		org := fmt.Sprint("org-", i)
		f.add(org, 1)
		evidencetest.Must(t, worker.Sequence(t.Context(), org))
	}
	evidencetest.Is(t, worker.Keep(t.Context(), f.noRetention()), refused)
	if kept := f.keptKeys(); len(kept) != 9 {
		t.Errorf("%d checkpoints are kept", len(kept))
	}
}

// withoutList is an object store whose List fails once off is set.
type withoutList struct {
	storage.Objects
	off bool
}

func (w *withoutList) List(ctx context.Context, after string, limit int) ([]storage.Object, error) {
	if w.off {
		return nil, errors.New("listed again")
	}
	return w.Objects.List(ctx, after, limit)
}

func TestAProcessComparesALogOnce(t *testing.T) {
	f := newFixture(t)
	objects := &withoutList{Objects: f.objs}
	worker := f.process(f.docs, objects)
	f.add("acme", 1)
	evidencetest.Must(t, worker.Sequence(t.Context(), "acme"))
	objects.off = true
	f.add("acme", 1)
	evidencetest.Must(t, worker.Sequence(t.Context(), "acme"))
	f.check("acme", 2)
}

// published signs a checkpoint of 300 entries, copies the database, and signs a checkpoint of 700, which it returns.
func published(t *testing.T) (f *fixture, backup storage.Documents, last string) {
	f = newFixture(t)
	f.add("acme", 300)
	f.sequenceAndKeep()
	backup = f.backup()
	f.add("acme", 400)
	f.sequenceAndKeep()
	return f, backup, f.log().Checkpoint
}

// withoutTiles is an object store of which only the checkpoints can be read.
type withoutTiles struct{ storage.Objects }

func (o withoutTiles) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if !strings.HasPrefix(key, "log-checkpoints.") {
		return nil, errKilled
	}
	return o.Objects.Get(ctx, key, offset, length)
}

func TestSequencingFailsIfTheLogCannotBeCompared(t *testing.T) {
	f := newFixture(t)
	f.add("acme", 100)
	f.sequenceAndKeep()
	f.add("acme", 156) // completes a tile, which is an object
	f.sequence("acme")
	evidencetest.Is(t, f.process(f.docs, withoutTiles{f.objs}).Sequence(t.Context(), "acme"), errKilled)
}

func TestARestoredDatabaseDoesNotForkItsLog(t *testing.T) {
	f, backup, last := published(t)
	f.docs = backup
	f.facts.Store(10_000)
	for name, add := range map[string]int{"with fewer entries": 100, "with other entries": 600} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			before := f.log()
			f.add("acme", add)
			repository := f.sequenceAndKeep()
			after := f.log()
			if after.Tree.Size != before.Tree.Size || after.Checkpoint != before.Checkpoint {
				t.Errorf("the log has %d entries", after.Tree.Size)
			}
			if why := repository.Halted(); !strings.HasPrefix(why, "example.com/name-of-acme: ") || !strings.Contains(why, "300 entries") || !strings.Contains(why, "700") {
				t.Error(why)
			}
			if kept, _, err := repository.LastKept(t.Context(), "acme"); err != nil || kept.Note != last {
				t.Errorf("kept %+v: %v", kept, err)
			}
		})
	}
}

func TestALogWithOtherEntriesIsNotContinued(t *testing.T) {
	f, backup, _ := published(t)
	objects := f.objs
	f.docs, f.objs = backup, &withoutKept{objects}
	f.facts.Store(10_000)
	f.grow("acme", 600)
	f.objs = objects
	f.add("acme", 1)
	repository := f.sequenceAndKeep()
	if why := repository.Halted(); !strings.Contains(why, "the first 700 entries in the database are not those") || f.log().Tree.Size != 900 {
		t.Errorf("%d entries: %s", f.log().Tree.Size, why)
	}
}

// withoutKept is an object store that lists nothing, so that a process finds no kept checkpoint to compare with.
type withoutKept struct{ storage.Objects }

func (*withoutKept) List(context.Context, string, int) ([]storage.Object, error) { return nil, nil }

func TestANewLogContinuesARestoredOne(t *testing.T) {
	f, backup, last := published(t)
	old := f.log()
	f.docs = backup
	f.facts.Store(10_000)
	f.add("acme", 100)
	repository := f.sequenceAndKeep()
	continueLog(t, repository)
	repository = f.sequenceAndKeep()
	log := f.log()
	if log.Origin != "example.com/name-of-acme/1" || log.Tree.Size != 401 || log.Signed != 401 || log.Continues != last || repository.Halted() != "" {
		t.Fatalf("the log %s has %d entries, halted: %q", log.Origin, log.Tree.Size, repository.Halted())
	}
	checkpoint, err := translogtest.OpenCheckpoint(log.Checkpoint, log.Verifiers...)
	if err != nil || checkpoint.Origin != log.Origin {
		t.Errorf("checkpoint %+v: %v", checkpoint, err)
	}
	texts, tree := f.entries(&log, 401)
	root, err := tlog.TreeHash(401, tree)
	if err != nil || root != checkpoint.Root {
		t.Errorf("root %v, want %v: %v", checkpoint.Root, root, err)
	}
	f.checkProofs(repository, &log, texts, 10)
	leaf, err := leafOf(t, repository, "acme", "continuation/1")
	if err != nil || leaf.Index != 301 || leaf.Hash != translog.Commitment(leaf.Salt, []byte(last)) {
		t.Errorf("the entry of the continuation is %+v: %v", leaf, err)
	}
	if kept, _, err := repository.LastKept(t.Context(), "acme"); err != nil || kept.Generation != 1 || kept.Note != log.Checkpoint || len(f.keptKeys()) != 1 {
		t.Errorf("kept %+v: %v", kept, err)
	}
	if _, err := repository.Continue(t.Context(), "acme"); !errors.Is(err, logs.ErrConsistent) {
		t.Errorf("a consistent log was continued: %v", err)
	}
	if old.Origin != "example.com/name-of-acme" {
		t.Errorf("the old origin is %s", old.Origin)
	}
}

func continueLog(t *testing.T, repository *logs.Logs) {
	t.Helper()
	_, err := repository.Continue(t.Context(), "acme")
	evidencetest.Must(t, err)
}

func TestALogIsContinuedWhileAWitnessCosignsIt(t *testing.T) {
	f, backup, last := published(t)
	f.docs = backup
	f.add("acme", 1)
	halted := f.sequenceAndKeep()
	cosigned := false
	f.docs = &storagetest.Interceptor{Documents: f.docs, Around: func(command storagetest.Command, run func() error) error {
		if len(command.Writes) > 0 && !cosigned {
			cosigned = true
			evidencetest.Must(t, halted.RecordCosignature(t.Context(), "acme", 1, "witness", logs.Witness{Size: 1}, "", []string{"witness"}))
		}
		return run()
	}}
	continueLog(t, logs.New(f.docs, f.objs))
	if log := f.log(); !cosigned || log.Generation != 1 || log.Continues != last {
		t.Errorf("a cosignature was recorded: %t; the log is %+v", cosigned, log)
	}
}

func TestALogIsContinuedTwiceFromTheSameBackup(t *testing.T) {
	f, backup, _ := published(t)
	f.docs = backup
	first := f.backup()
	for generation := 1; generation < 3; generation++ {
		f.docs = first
		first = f.backup() // for the second generation, from the same backup
		f.add("acme", 1)
		repository := f.sequenceAndKeep()
		if why := repository.Halted(); generation == 2 && !strings.Contains(why, "continued by another one") {
			t.Error(why)
		}
		continueLog(t, repository)
		f.sequenceAndKeep()
		if log := f.log(); log.Origin != fmt.Sprint("example.com/name-of-acme/", generation) || log.Signed != 302 {
			t.Errorf("the log %s has %d entries", log.Origin, log.Signed)
		}
	}
}

func TestAnEmptyDatabaseDoesNotBeginItsLogAgain(t *testing.T) {
	f, _, last := published(t)
	f.docs = pebbletest.Open(t, filepath.Join(t.TempDir(), "documents"), append(logs.Schemas(), factSchema))
	f.add("acme", 3)
	repository := f.sequenceAndKeep()
	if why := repository.Halted(); !strings.Contains(why, "has 0 entries") {
		t.Error(why)
	}
	continueLog(t, repository)
	f.sequenceAndKeep()
	if log := f.log(); log.Signed != 4 || log.Continues != last {
		t.Errorf("%d entries are signed", log.Signed)
	}
	leaf, err := leafOf(t, repository, "acme", "continuation/1")
	if err != nil || leaf.Index != 1 {
		t.Errorf("the continuation is entry %d: %v", leaf.Index, err)
	}
}

// TestARecordedRestoreHaltsTheLog covers a restore after which checkpoints may have been published since the backup,
// but none is kept to prove it.
func TestARecordedRestoreHaltsTheLog(t *testing.T) {
	f, _, last := published(t)
	before := f.log()
	const why = "the database was restored from the backup of yesterday"
	halted, err := logs.New(f.docs, f.objs).RecordRestore(t.Context(), why)
	if err != nil || len(halted) != 1 || halted["acme"] != why {
		t.Fatalf("halted %q: %v", halted, err)
	}
	f.add("acme", 1)
	repository := f.sequenceAndKeep()
	if after := f.log(); after.Tree.Size != before.Tree.Size || !strings.Contains(repository.Halted(), why) {
		t.Errorf("%d entries, halted %q", after.Tree.Size, repository.Halted())
	}
	continueLog(t, repository)
	if log := f.sequenceAndKeep(); log.Halted() != "" || f.log().Continues != last || f.log().Generation != 1 {
		t.Errorf("halted %q: %+v", log.Halted(), f.log())
	}
}

func TestARestoredLogGoesOnIfNothingWasPublishedSinceTheBackup(t *testing.T) {
	f, _, _ := published(t)
	before := f.log()
	if halted, err := logs.New(f.docs, f.objs).RecordRestore(t.Context(), ""); err != nil || len(halted) != 0 {
		t.Fatalf("halted %q: %v", halted, err)
	}
	f.add("acme", 1)
	if repository := f.sequenceAndKeep(); repository.Halted() != "" || f.log().Tree.Size != before.Tree.Size+1 {
		t.Errorf("%d entries, halted %q", f.log().Tree.Size, repository.Halted())
	}
}
