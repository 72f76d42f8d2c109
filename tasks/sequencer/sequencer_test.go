package sequencer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

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
)

// factSchema is a collection of facts.
var factSchema = &storage.Schema{Name: "artifacts", Fields: []string{"org", "trail"}}

// organizations is a fake in which every organization exists except "nobody", while it has no error.
type organizations struct{ err error }

func (o organizations) OrganizationOf(_ context.Context, id string) (evidence.Organization, error) {
	if id == "nobody" {
		return evidence.Organization{}, storage.ErrNotFound
	}
	if o.err != nil {
		return evidence.Organization{}, o.err
	}
	return evidence.Organization{ID: id, Name: "name-of-" + id}, nil
}

// fixture is a set of logs in embedded engines.
type fixture struct {
	t      testing.TB
	folder string
	docs   storage.Documents
	objs   storage.Objects
	keys   translog.Keys
	clock  *evidencetest.Clock
	facts  atomic.Int64
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	folder := t.TempDir()
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	evidencetest.Must(t, err)
	return &fixture{
		t: t, folder: folder, objs: objects, keys: translogtest.NewKeys(t),
		docs: pebbletest.Open(t, filepath.Join(folder, "documents"), append(logs.Schemas(), factSchema)),
		// Each reading advances the clock by more than signInterval, so a checkpoint is always due.
		clock: evidencetest.NewSteppingClock(time.Unix(1_800_000_000, 0), 2*time.Second),
	}
}

// add stores facts with their leaves.
func (f *fixture) add(org string, count int) {
	f.t.Helper()
	var writes []storage.Write
	for range count {
		number := f.facts.Add(1)
		record := storage.Record{ID: fmt.Sprint(number), Revision: 1, Fields: map[string]any{"org": org}, Body: fmt.Appendf(nil, `{"org":%q,"number":%d}`, org, number)}
		writes = append(writes, storage.Write{Kind: storage.WriteInsert, Schema: factSchema, Record: record})
	}
	if err := logs.NewDocuments(f.docs, f.clock.Now).Write(f.t.Context(), writes...); err != nil {
		f.t.Error(err)
	}
}

// process returns a new sequencer, without the state that another one has cached.
func (f *fixture) process(docs storage.Documents, objects storage.Objects) *sequencer.Sequencer {
	return sequencer.New(logs.New(docs, objects), f.keys, organizations{}, "example.com", f.clock.Now)
}

func (f *fixture) sequence(org string) {
	f.t.Helper()
	evidencetest.Must(f.t, f.process(f.docs, f.objs).Sequence(f.t.Context(), org))
}

// grow stores facts with their leaves, and sequences the log.
func (f *fixture) grow(org string, count int) {
	f.t.Helper()
	f.add(org, count)
	f.sequence(org)
}

// stored returns the documents of an organization in a collection, by their ids.
func stored[T any](f *fixture, collection, org string) (values []T) {
	f.t.Helper()
	schemas := logs.Schemas()
	schema := schemas[slices.IndexFunc(schemas, func(s *storage.Schema) bool { return s.Name == collection })]
	for after := org + "/"; ; {
		page, err := f.docs.List(f.t.Context(), schema, after, storage.MaxMany, 64<<20)
		evidencetest.Must(f.t, err)
		for _, record := range page {
			after = record.ID
			if !strings.HasPrefix(after, org+"/") {
				return values
			}
			var value T
			evidencetest.Must(f.t, json.Unmarshal(record.Body, &value))
			values = append(values, value)
		}
		if len(page) == 0 {
			return values
		}
	}
}

// leafOf returns the leaf with a name, or storage.ErrNotFound.
func leafOf(t testing.TB, reader *logs.Logs, org, name string) (logs.Leaf, error) {
	leaves, err := reader.LeavesOf(t.Context(), org, []string{name})
	if err == nil && len(leaves) == 0 {
		err = storage.ErrNotFound
	}
	return append(leaves, logs.Leaf{})[0], err
}

// leaves returns the leaves of all facts of an organization, and of the continuation if there is one, by index.
func (f *fixture) leaves(org string) (leaves []logs.Leaf) {
	f.t.Helper()
	reader := logs.New(f.docs, f.objs)
	for after := ""; ; {
		page, err := f.docs.List(f.t.Context(), factSchema, after, storage.MaxMany, 64<<20)
		evidencetest.Must(f.t, err)
		for _, record := range page {
			after = record.ID
			if record.Fields["org"] != org {
				continue
			}
			leaf, err := leafOf(f.t, reader, org, "artifact/"+record.ID)
			evidencetest.Must(f.t, err)
			leaves = append(leaves, leaf)
		}
		if len(page) == 0 {
			if continuation, err := leafOf(f.t, reader, org, logs.Continuation+"/1"); err == nil {
				leaves = append(leaves, continuation)
			}
			slices.SortFunc(leaves, func(a, b logs.Leaf) int { return int(a.Index - b.Index) })
			return leaves
		}
	}
}

// entries returns the entries of a log by index, and all hashes of the tree over them. It checks that the indexes have
// no gaps.
func (f *fixture) entries(log *logs.Log, want int) (texts [][]byte, tree translogtest.Hashes) {
	f.t.Helper()
	leaves := f.leaves(log.Org)
	if len(leaves) != want {
		f.t.Fatalf("%d leaves, want %d", len(leaves), want)
	}
	for i := range leaves {
		if leaves[i].Index != int64(i+1) {
			f.t.Fatalf("leaf %s has the index %d, want %d", leaves[i].ID, leaves[i].Index, i+1)
		}
		texts = append(texts, leaves[i].Entry(log.Secret).Text())
		added, err := tlog.StoredHashes(int64(i), texts[i], tree)
		evidencetest.Must(f.t, err)
		tree = append(tree, added...)
	}
	return texts, tree
}

// check checks the invariants of a sequenced log: all of its leaves have an index, and its tiles, bundles, proofs and
// checkpoints are those of the tree over their entries.
func (f *fixture) check(org string, want int) {
	f.t.Helper()
	reader := logs.New(f.docs, f.objs)
	log, err := reader.Get(f.t.Context(), org)
	evidencetest.Must(f.t, err)
	texts, tree := f.entries(&log, want)
	pending, err := reader.Pending(f.t.Context(), org, 0, 1)
	if err != nil || len(pending) > 0 || log.Tree.Size != int64(want) || log.Signed != int64(want) || log.Due != 0 {
		f.t.Fatalf("%d entries of %d, %d of them signed, due at %v: %v", log.Tree.Size, want, log.Signed, log.Due, err)
	}
	f.checkCheckpoints(&log, tree)
	f.checkTiles(reader, &log, tree)
	f.checkBundles(reader, &log, texts)
	f.checkProofs(reader, &log, texts, 50)
}

// checkProofs checks the proof of every step-th entry.
func (f *fixture) checkProofs(reader *logs.Logs, log *logs.Log, texts [][]byte, step int) {
	f.t.Helper()
	for index := 0; index < len(texts); index += step {
		proof, err := reader.Prove(f.t.Context(), log, int64(index))
		evidencetest.Must(f.t, err)
		if proven, err := translogtest.CheckProof(proof.Text(), texts[index], log.Verifiers...); err != nil || proven != int64(index) {
			f.t.Fatalf("entry %d: %v", index, err)
		}
	}
}

// checkCheckpoints checks that all checkpoints are consistent with the last one, and that this covers the whole log.
func (f *fixture) checkCheckpoints(log *logs.Log, tree translogtest.Hashes) {
	f.t.Helper()
	root, err := tlog.TreeHash(log.Tree.Size, tree)
	evidencetest.Must(f.t, err)
	sizes := map[int64]bool{}
	for _, checkpoint := range stored[logs.Checkpoint](f, "log_notes", log.Org) {
		opened, err := translogtest.OpenCheckpoint(checkpoint.Note, log.Verifiers...)
		evidencetest.Must(f.t, err)
		sizes[opened.Size] = true
		if opened.Size != checkpoint.Size || opened.Origin != "example.com/name-of-"+log.Org {
			f.t.Fatalf("checkpoint %+v is of size %d", opened, checkpoint.Size)
		}
		proof, err := tlog.ProveTree(log.Tree.Size, opened.Size, tree)
		evidencetest.Must(f.t, err)
		if err := tlog.CheckTree(proof, log.Tree.Size, root, opened.Size, opened.Root); err != nil {
			f.t.Fatalf("the checkpoint of %d entries is not consistent with the last one: %v", opened.Size, err)
		}
	}
	last, err := translogtest.OpenCheckpoint(log.Checkpoint, log.Verifiers...)
	if err != nil || !sizes[last.Size] || last.Size != log.Tree.Size || last.Root != root {
		f.t.Fatalf("the last checkpoint is %+v, and the log has %d entries: %v", last, log.Tree.Size, err)
	}
}

// eachPart visits the full parts of a level, the last partial one, and shorter prefixes of each.
func eachPart(level int, count int64, visit func(translog.Part)) {
	for number := int64(0); number<<translog.Height < count; number++ {
		width := min(translog.Width, int(count-number<<translog.Height))
		for _, some := range []int{width, 1, (width + 1) / 2} {
			visit(translog.Part{Level: level, Number: number, Width: some})
		}
	}
}

func (f *fixture) checkTiles(reader *logs.Logs, log *logs.Log, tree translogtest.Hashes) {
	f.t.Helper()
	for level := range 2 {
		eachPart(level, log.Tree.Size>>(translog.Height*level), func(part translog.Part) {
			got, err := reader.Part(f.t.Context(), log, part)
			evidencetest.Must(f.t, err)
			want, err := tlog.ReadTileData(tlog.Tile{H: translog.Height, L: level, N: part.Number, W: part.Width}, tree)
			if err != nil || !bytes.Equal(got, want) {
				f.t.Fatalf("tile %s is not that of the library: %v", part.Path(), err)
			}
		})
	}
}

func (f *fixture) checkBundles(reader *logs.Logs, log *logs.Log, texts [][]byte) {
	f.t.Helper()
	eachPart(translog.Entries, log.Tree.Size, func(part translog.Part) {
		got, err := reader.Part(f.t.Context(), log, part)
		evidencetest.Must(f.t, err)
		first := part.Number << translog.Height
		if !bytes.Equal(got, translog.Bundle(texts[first:first+int64(part.Width)])) {
			f.t.Fatalf("bundle %s does not have the entries of its indexes", part.Path())
		}
	})
}

func TestAllLeavesGetAnIndex(t *testing.T) {
	f := newFixture(t)
	f.add("acme", storage.MaxMany+2) // more than one search finds
	f.add("other", 3)
	f.sequence("acme")
	f.check("acme", storage.MaxMany+2)
	f.grow("acme", 1)
	f.sequence("acme")
	f.check("acme", storage.MaxMany+3)
	f.sequence("other")
	f.check("other", 3)
}

func TestEachEntryHasAProof(t *testing.T) {
	f := newFixture(t)
	f.grow("acme", 700)
	reader := logs.New(f.docs, f.objs)
	log, err := reader.Get(t.Context(), "acme")
	evidencetest.Must(t, err)
	texts, _ := f.entries(&log, 700)
	f.checkProofs(reader, &log, texts, 1)
}

func TestAFactWithSeveralLeavesGetsOneIndex(t *testing.T) {
	f := newFixture(t)
	docs := logs.NewDocuments(f.docs, f.clock.Now)
	again := func() {
		stored, err := f.docs.Get(t.Context(), factSchema, "1")
		evidencetest.Must(t, err)
		evidencetest.Must(t, storagetest.Put(t.Context(), docs, factSchema, stored))
	}
	f.add("acme", 3)
	again()
	f.sequence("acme")
	f.check("acme", 3)
	again()
	f.grow("acme", 1)
	f.check("acme", 4)
}

func TestALeafThatWasStoredLateGetsAnIndex(t *testing.T) {
	f := newFixture(t)
	f.clock = evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	process := f.process(f.docs, f.objs)
	for range 2 {
		f.add("acme", 2)
		evidencetest.Must(t, process.Sequence(t.Context(), "acme"))
		f.clock.Advance(2 * time.Second)
	}
	f.clock.Advance(-time.Minute)
	f.add("acme", 1)
	f.clock.Advance(time.Minute)
	for _, step := range []struct {
		after time.Duration
		want  int64
	}{{0, 4}, {5 * time.Second, 4}, {time.Second, 5}} { // all times are searched ten seconds after the last time
		f.clock.Advance(step.after)
		evidencetest.Must(t, process.Sequence(t.Context(), "acme"))
		if size := f.log().Tree.Size; size != step.want {
			t.Errorf("after %v more the log has %d entries, want %d", step.after, size, step.want)
		}
	}
	f.check("acme", 5)
}

func TestALeafOfTheFutureDelaysNoOthers(t *testing.T) {
	f := newFixture(t)
	f.clock = evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	process := f.process(f.docs, f.objs)
	for _, ahead := range []time.Duration{time.Hour, 0} {
		f.clock.Advance(ahead)
		f.add("acme", 1)
		f.clock.Advance(2*time.Second - ahead)
		evidencetest.Must(t, process.Sequence(t.Context(), "acme"))
	}
	f.check("acme", 2)
}

func TestLeavesGetIndexesAtOnceAfterTheClockWasSetBack(t *testing.T) {
	f := newFixture(t)
	f.clock = evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	process := f.process(f.docs, f.objs)
	for size, step := range []time.Duration{0, -time.Hour, 2 * time.Second, 2 * time.Second} {
		f.clock.Advance(step)
		f.add("acme", 1)
		evidencetest.Must(t, process.Sequence(t.Context(), "acme"))
		f.check("acme", size+1)
	}
}

func TestLeavesGetIndexesInTheOrderOfTheirTimes(t *testing.T) {
	f := newFixture(t)
	f.grow("acme", 300)
	leaves := f.leaves("acme")
	for i := 1; i < len(leaves); i++ {
		if leaves[i].At <= leaves[i-1].At {
			t.Errorf("leaf %d is of %v, the previous one of %v", i, leaves[i].At, leaves[i-1].At)
		}
	}
}

// injector is an engine that calls before and after around its at-th write. If single is set, it does the writes of a
// batch one by one, like an engine that may do only a part of a batch.
type injector struct {
	storage.Documents
	single        bool
	at            int64
	before, after func() error
	writes        atomic.Int64
}

func (i *injector) reached() bool { return i.writes.Load() >= i.at }

func (i *injector) around(write func() error) error {
	if i.writes.Add(1) != i.at {
		return write()
	}
	if err := i.before(); err != nil {
		return err
	}
	return errors.Join(write(), i.after())
}

func (i *injector) Write(ctx context.Context, writes ...storage.Write) error {
	if !i.single {
		return i.around(func() error { return i.Documents.Write(ctx, writes...) })
	}
	return storagetest.WriteOneByOne(writes, func(write storage.Write) error {
		return i.around(func() error { return i.Documents.Write(ctx, write) })
	})
}

var errKilled = errors.New("the process was killed")

func kill() error    { return errKilled }
func proceed() error { return nil }

// scenes are logs with some indexed leaves, to which more leaves are added.
var scenes = map[string]struct {
	single        bool
	indexed, more int
}{
	"batches, a new log":      {false, 0, 600},
	"batches, a full bundle":  {false, 250, 10},
	"one by one, a new log":   {true, 0, 3},
	"one by one, full bundle": {true, 253, 5},
}

// atEachWrite runs a test with a fault at the first write of a sequencer, at the second, and so on, until the sequencer
// makes fewer writes. run returns how many leaves it has added.
func atEachWrite(t *testing.T, run func(f *fixture, org string, process *injector) (added int)) {
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			for at, reached := int64(1), true; reached; at++ {
				org := fmt.Sprintf("org-%d", at)
				if scene.indexed > 0 {
					f.grow(org, scene.indexed)
				}
				f.add(org, scene.more)
				process := &injector{Documents: f.docs, single: scene.single, at: at, before: proceed, after: proceed}
				added := run(f, org, process)
				f.check(org, scene.indexed+scene.more+added)
				reached = process.reached()
				if !reached && at < 3 {
					t.Errorf("the sequencer made %d writes", at-1)
				}
			}
		})
	}
}

func TestSequencingFailsWithEachOfItsCommands(t *testing.T) {
	f := newFixture(t)
	open := func() storage.Documents {
		f.add("acme", 3)
		return f.docs
	}
	storagetest.EachFailure(t, 5, open, func(docs storage.Documents) error { return f.process(docs, f.objs).Sequence(t.Context(), "acme") })
	f.grow("acme", 3)
	f.check("acme", int(f.facts.Load()))
}

func TestTheNextSequencerFinishesTheWorkOfAKilledOne(t *testing.T) {
	for name, set := range map[string]func(*injector){
		"before a write": func(i *injector) { i.before = kill },
		"after a write":  func(i *injector) { i.after = kill },
	} {
		t.Run(name, func(t *testing.T) {
			atEachWrite(t, func(f *fixture, org string, process *injector) int {
				set(process)
				err := f.process(process, f.objs).Sequence(t.Context(), org)
				if process.reached() != errors.Is(err, errKilled) || !process.reached() && err != nil {
					t.Fatal(err)
				}
				f.grow(org, 4)
				return 4
			})
		})
	}
}

func TestASequencerThatWasPausedDoesNotCorruptTheLog(t *testing.T) {
	for name, set := range map[string]func(*injector, func() error){
		"before a write": func(i *injector, wait func() error) { i.before = wait },
		"after a write":  func(i *injector, wait func() error) { i.after = wait },
	} {
		t.Run(name, func(t *testing.T) {
			atEachWrite(t, func(f *fixture, org string, process *injector) int {
				halted, proceeds, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				set(process, func() error { close(halted); <-proceeds; return nil })
				go func() { ended <- f.process(process, f.objs).Sequence(t.Context(), org) }()
				select {
				case <-halted:
					f.grow(org, 4)
					f.grow(org, 2)
					f.add(org, 1)
				case err := <-ended:
					evidencetest.Must(t, err)
					return 0
				}
				close(proceeds)
				evidencetest.Must(t, <-ended)
				f.sequence(org)
				return 7
			})
		})
	}
}

// failing is an object store whose at-th Put fails, before or after it has stored the object.
type failing struct {
	storage.Objects
	at, puts int
	after    bool
}

func (o *failing) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	o.puts++
	if o.puts == o.at && !o.after {
		return storage.Object{}, errKilled
	}
	object, err := o.Objects.Put(ctx, scope, r, size)
	if o.puts == o.at {
		err = errKilled
	}
	return object, err
}

func TestASequencerContinuesAfterATileWasNotStored(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; at <= 4; at++ {
			t.Run(fmt.Sprintf("object %d, after %t", at, after), func(t *testing.T) {
				f := newFixture(t)
				f.add("acme", 600)
				objects := &failing{Objects: f.objs, at: at, after: after}
				process := f.process(f.docs, objects)
				if err := process.Sequence(t.Context(), "acme"); !errors.Is(err, errKilled) {
					t.Fatalf("the sequencer ended with %v", err)
				}
				f.add("acme", 4)
				evidencetest.Must(t, process.Sequence(t.Context(), "acme"))
				f.check("acme", 604)
			})
		}
	}
}

func TestSeveralSequencersContinueTheSameLog(t *testing.T) {
	for name, single := range map[string]bool{"batches": false, "one by one": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.add("acme", 200)
			var adding, sequencing sync.WaitGroup
			for range 2 {
				adding.Go(func() {
					for range 100 {
						f.add("acme", 2)
					}
				})
			}
			var added atomic.Bool
			for range 3 {
				sequencing.Go(func() {
					process := f.process(&injector{Documents: f.docs, single: single}, f.objs)
					for last := false; !last; {
						last = added.Load()
						if err := process.Sequence(t.Context(), "acme"); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			adding.Wait()
			added.Store(true)
			sequencing.Wait()
			f.check("acme", 600)
		})
	}
}

func TestACheckpointIsSignedAfterTheClockWasSetBack(t *testing.T) {
	f := newFixture(t)
	f.grow("acme", 5)
	f.clock.Advance(-time.Hour)
	for size := 10; size <= 15; size += 5 {
		f.grow("acme", 5)
		f.check("acme", size)
	}
}

func TestAllKeysSignCheckpoints(t *testing.T) {
	f := newFixture(t)
	f.grow("acme", 2)
	f.keys = append(f.keys, translogtest.NewKeys(t)...)
	f.grow("acme", 1)
	f.check("acme", 3)
	log, err := logs.New(f.docs, f.objs).Get(t.Context(), "acme")
	evidencetest.Must(t, err)
	if len(log.Verifiers) != 2 {
		t.Errorf("verifiers %q", log.Verifiers)
	}
	for _, verifier := range log.Verifiers {
		if opened, err := translogtest.OpenCheckpoint(log.Checkpoint, verifier); err != nil || opened.Size != 3 {
			t.Errorf("opened %+v: %v", opened, err)
		}
	}
}

func TestNoLogIsBegunForAMissingOrganization(t *testing.T) {
	f := newFixture(t)
	f.grow("nobody", 2)
	reader := logs.New(f.docs, f.objs)
	if _, err := reader.Get(t.Context(), "nobody"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the log: %v", err)
	}
	if pending, err := reader.Pending(t.Context(), "nobody", 0, 10); err != nil || len(pending) != 2 {
		t.Errorf("%d leaves have no index: %v", len(pending), err)
	}
	for _, collection := range []string{"log_entries", "log_notes", "log_parts"} {
		if made := stored[json.RawMessage](f, collection, "nobody"); len(made) > 0 {
			t.Errorf("%s has %s", collection, made)
		}
	}
}

func TestNothingIsSignedWithoutLeaves(t *testing.T) {
	f := newFixture(t)
	f.sequence("acme")
	log, err := logs.New(f.docs, f.objs).Get(t.Context(), "acme")
	if err != nil || log.Checkpoint != "" || log.Tree.Size != 0 || log.Due != 0 {
		t.Errorf("the log is %+v: %v", log, err)
	}
}

func TestTheNextSequencerSignsACheckpointThatWasNotDueYet(t *testing.T) {
	f := newFixture(t)
	f.clock = evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	f.grow("acme", 2)
	f.add("acme", 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The first write commits the log with its new leaves.
	process := &injector{Documents: f.docs, at: 1, before: proceed, after: func() error { cancel(); return nil }}
	if err := f.process(process, f.objs).Sequence(ctx, "acme"); !errors.Is(err, context.Canceled) {
		t.Fatalf("the sequencer ended with %v", err)
	}
	reader := logs.New(f.docs, f.objs)
	log, err := reader.Get(t.Context(), "acme")
	if err != nil || log.Tree.Size != 5 || log.Signed != 2 || log.Due != 1_800_000_001 {
		t.Errorf("the log is %+v: %v", log, err)
	}
	for now, want := range map[float64]int{1_800_000_000.5: 0, 1_800_000_001: 1} {
		if due, _, err := reader.Unsigned(t.Context(), now, ""); err != nil || len(due) != want {
			t.Errorf("at %v, %d logs are due: %v", now, len(due), err)
		}
	}
	f.clock.Advance(time.Second)
	f.sequence("acme")
	f.check("acme", 5)
}
