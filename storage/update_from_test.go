package storage

import (
	"errors"
	"testing"
)

// readTally returns an engine with one document, and the version of it that was read.
func readTally(t *testing.T) (*memory, *collection[tally], Versioned[tally]) {
	t.Helper()
	tallies, docs := newTallies(tally{ID: "one", Count: 3})
	seen, err := tallies.GetVersioned(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	return docs, tallies, seen
}

func TestUpdateFromCurrentVersionDoesNotReadAgain(t *testing.T) {
	docs, tallies, seen := readTally(t)
	docs.beforeGet = func() { t.Error("it was read again") }
	got, err := tallies.UpdateFrom(t.Context(), seen, func(v *tally) error {
		v.Count++
		return nil
	})
	if err != nil || got.Count != seen.Value.Count+1 || docs.replaced != 1 {
		t.Errorf("%+v after %d writes: %v", got, docs.replaced, err)
	}
}

// The result of a change that writes, writes nothing or fails must be that of the stored document, not of the stale
// version.
func TestUpdateFromStaleVersionUsesTheStoredDocument(t *testing.T) {
	errNew := errors.New("seen as it is")
	for name, c := range map[string]struct {
		change func(*tally) error
		want   int
		err    error
	}{
		"change":    {func(v *tally) error { v.Count++; return nil }, 11, nil},
		"no change": {func(*tally) error { return nil }, 10, nil},
		"failure": {func(v *tally) error {
			if v.Count == 10 {
				return errNew
			}
			return errors.New("decided by what was seen")
		}, 0, errNew},
	} {
		_, tallies, seen := readTally(t)
		if _, err := tallies.Update(t.Context(), "one", func(v *tally) error { v.Count = 10; return nil }); err != nil {
			t.Fatal(err)
		}
		got, err := tallies.UpdateFrom(t.Context(), seen, c.change)
		if !errors.Is(err, c.err) || c.err == nil && got.Count != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestUpdateFromDeletedDocumentFails(t *testing.T) {
	docs, tallies, seen := readTally(t)
	delete(docs.records, "one")
	_, err := tallies.UpdateFrom(t.Context(), seen, func(v *tally) error { v.Count++; return nil })
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
