package storage

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"attestry/evidence"
)

// memory is an engine with Get and writes that replace one document, for the tests of Update.
type memory struct {
	Documents
	mu      sync.Mutex
	records map[string]Record
	// beforeGet and beforeReplace are called before each command.
	beforeGet, beforeReplace func()
	replaced                 int
}

func (m *memory) Get(_ context.Context, _ *Schema, id string) (Record, error) {
	if m.beforeGet != nil {
		m.beforeGet()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	record, ok := m.records[id]
	if !ok {
		return Record{}, ErrNotFound
	}
	return record, nil
}

func (m *memory) Write(_ context.Context, writes ...Write) error {
	if m.beforeReplace != nil {
		m.beforeReplace()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	replacement := &writes[0]
	if m.records[replacement.Record.ID].Revision != replacement.Revision {
		return &RefusedWrite{Reason: ErrMoved}
	}
	m.replaced++
	m.records[replacement.Record.ID] = replacement.Record
	return nil
}

// move gives a document a new revision, as a writer in another process does.
func (m *memory) move(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	record := m.records[id]
	record.Revision++
	m.records[id] = record
}

type tally struct {
	ID    string   `json:"id"`
	Count int      `json:"count"`
	Names []string `json:"names,omitempty"`
}

func newTallies(documents ...tally) (*collection[tally], *memory) {
	m := &memory{records: map[string]Record{}}
	c := NewCollection(m, &Schema{Name: "tallies", Fields: []string{"count"}},
		func(t *tally) string { return t.ID },
		func(t *tally) map[string]any { return map[string]any{"count": int64(t.Count)} }).(*collection[tally])
	for i := range documents {
		record, err := c.encode(&documents[i])
		if err != nil {
			panic(err)
		}
		m.records[record.ID] = record
	}
	return c, m
}

func increment(t *tally) error { t.Count++; return nil }

// first returns a function whose first call calls f. Further calls return at once.
func first(f func()) func() {
	var called atomic.Bool
	return func() {
		if called.CompareAndSwap(false, true) {
			f()
		}
	}
}

// updateWhileBusy starts updates while another update of the document is running, and waits until all have ended.
func updateWhileBusy(t *testing.T, c *collection[tally], m *memory, changes ...func(*tally) error) (values []tally, errs []error) {
	t.Helper()
	reading, goOn := make(chan struct{}), make(chan struct{})
	m.beforeGet = first(func() { close(reading); <-goOn })
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := c.Update(t.Context(), "a", increment); err != nil {
			t.Error(err)
		}
	})
	<-reading
	values, errs = make([]tally, len(changes)), make([]error, len(changes))
	for i, change := range changes {
		all.Go(func() { values[i], errs[i] = c.Update(t.Context(), "a", change) })
		waitUntil(t, func() bool { return c.updates.Waiting() == i+1 })
	}
	close(goOn)
	all.Wait()
	return values, errs
}

func waitUntil(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); {
		if time.Now().After(deadline) {
			t.Fatal("the condition did not come about")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestWaitingUpdatesShareOneWrite(t *testing.T) {
	c, m := newTallies(tally{ID: "a"})
	changes := make([]func(*tally) error, 64)
	for i := range changes {
		changes[i] = increment
	}
	values, errs := updateWhileBusy(t, c, m, changes...)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if m.replaced != 2 {
		t.Errorf("65 updates took %d writes, want that of the first and one for the others", m.replaced)
	}
	for i, value := range values {
		if value.Count != i+2 {
			t.Errorf("update %d saw count %d, want its own", i, value.Count)
		}
	}
	stored, err := c.Get(t.Context(), "a")
	if err != nil || stored.Count != 65 {
		t.Errorf("stored %+v: %v", stored, err)
	}
	if got := m.records["a"].Fields["count"]; got != int64(65) {
		t.Errorf("the declared field is %v", got)
	}
}

func TestUpdateThatFailsLeavesNoTraceInASharedWrite(t *testing.T) {
	c, m := newTallies(tally{ID: "a"})
	broken, worse := errors.New("broken"), errors.New("worse")
	fail := func(err error) func(*tally) error {
		return func(t *tally) error {
			t.Count, t.Names = 1000, append(t.Names, "trace")
			return err
		}
	}
	_, errs := updateWhileBusy(t, c, m, increment, fail(broken), increment, fail(worse))
	for i, want := range []error{nil, broken, nil, worse} {
		if !errors.Is(errs[i], want) {
			t.Errorf("update %d: got %v, want %v", i, errs[i], want)
		}
	}
	stored, err := c.Get(t.Context(), "a")
	if err != nil || stored.Count != 3 || stored.Names != nil {
		t.Errorf("stored %+v: %v", stored, err)
	}
}

func TestUpdateOfAnAbsentDocumentIsNotFound(t *testing.T) {
	c, m := newTallies()
	for range 2 {
		if _, err := c.Update(t.Context(), "a", increment); !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v", err)
		}
	}
	if m.replaced != 0 {
		t.Errorf("%d writes", m.replaced)
	}
}

func TestUpdateWithoutChangeWritesNothing(t *testing.T) {
	c, m := newTallies(tally{ID: "a", Count: 7})
	value, err := c.Update(t.Context(), "a", func(*tally) error { return nil })
	if err != nil || value.Count != 7 || m.replaced != 0 {
		t.Errorf("got %+v with %d writes: %v", value, m.replaced, err)
	}
}

func TestUpdateStartsOverWhenTheDocumentMoved(t *testing.T) {
	c, m := newTallies(tally{ID: "a"})
	moves := 3
	m.beforeReplace = func() {
		if moves--; moves >= 0 {
			m.move("a")
		}
	}
	runs := 0
	value, err := c.Update(t.Context(), "a", func(t *tally) error { runs++; t.Count++; return nil })
	if err != nil || value.Count != 1 || runs != 4 {
		t.Errorf("got %+v after %d runs: %v", value, runs, err)
	}
}

func TestUpdateThatAlwaysConflictsIsUnavailable(t *testing.T) {
	c, m := newTallies(tally{ID: "a"})
	m.beforeReplace = func() { m.move("a") }
	_, err := c.Update(t.Context(), "a", increment)
	var refused *evidence.Error
	if !errors.As(err, &refused) || refused.Code != evidence.Unavailable || refused.RetryAfter <= 0 {
		t.Errorf("got %v", err)
	}
	if stored, err := c.Get(t.Context(), "a"); err != nil || stored.Count != 0 {
		t.Errorf("stored %+v: %v", stored, err)
	}
}

func TestUpdateOfACancelledCallerIsStillWritten(t *testing.T) {
	c, m := newTallies(tally{ID: "a"})
	ctx, cancel := context.WithCancel(t.Context())
	m.beforeGet = first(cancel)
	if _, err := c.Update(ctx, "a", increment); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Update(t.Context(), "a", increment); err != nil {
		t.Error(err)
	}
	if stored, err := c.Get(t.Context(), "a"); err != nil || stored.Count != 2 {
		t.Errorf("stored %+v: %v", stored, err)
	}
}

func TestUpdatesOfDifferentDocumentsDoNotWaitForEachOther(t *testing.T) {
	c, m := newTallies(tally{ID: "a"}, tally{ID: "b"})
	reading, goOn := make(chan struct{}), make(chan struct{})
	m.beforeGet = first(func() { close(reading); <-goOn })
	held := make(chan error, 1)
	go func() {
		_, err := c.Update(t.Context(), "a", increment)
		held <- err
	}()
	<-reading
	if _, err := c.Update(t.Context(), "b", increment); err != nil {
		t.Error(err)
	}
	close(goOn)
	if err := <-held; err != nil {
		t.Error(err)
	}
}

func TestUpdateThatCannotBeEncodedFails(t *testing.T) {
	m := &memory{records: map[string]Record{"a": {ID: "a", Revision: 1, Body: []byte(`{}`)}}}
	c := NewCollection(m, &Schema{Name: "odd"}, func(*map[string]any) string { return "a" }, nil)
	if _, err := c.Update(t.Context(), "a", func(v *map[string]any) error {
		(*v)["odd"] = func() {}
		return nil
	}); err == nil || m.replaced != 0 {
		t.Errorf("got %v with %d writes", err, m.replaced)
	}
}

func TestUpdateThatPanicsFailsAlone(t *testing.T) {
	c, m := newTallies(tally{ID: "a"})
	_, errs := updateWhileBusy(t, c, m,
		func(*tally) error { panic("out of order") },
		increment,
	)
	if errs[0] == nil || errs[1] != nil {
		t.Errorf("got %v", errs)
	}
	if value, err := c.Get(t.Context(), "a"); err != nil || value.Count != 2 {
		t.Errorf("got %+v, %v", value, err)
	}
}
