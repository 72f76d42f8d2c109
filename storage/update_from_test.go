package storage

import (
	"errors"
	"testing"
)

// seenBox is an engine with one document, as somebody has seen it.
func seenBox(t *testing.T) (*memory, *collection[tally], Versioned[tally]) {
	t.Helper()
	tallies, docs := newTallies(tally{ID: "one", Count: 3})
	seen, err := tallies.GetVersioned(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	return docs, tallies, seen
}

func TestUpdateFromWhatWasSeenDoesNotReadAgain(t *testing.T) {
	docs, tallies, seen := seenBox(t)
	docs.beforeGet = func() { t.Error("it was read again") }
	got, err := tallies.UpdateFrom(t.Context(), seen, func(v *tally) error {
		v.Count++
		return nil
	})
	if err != nil || got.Count != seen.Value.Count+1 || docs.replaced != 1 {
		t.Errorf("%+v after %d writes: %v", got, docs.replaced, err)
	}
}

// TestUpdateFromWhatIsOldStartsFromWhatIs has another process change the document
// behind the reader's back. Neither a change, nor one that changes nothing, nor one
// that fails may be decided by what was seen.
func TestUpdateFromWhatIsOldStartsFromWhatIs(t *testing.T) {
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
		_, tallies, seen := seenBox(t)
		if _, err := tallies.Update(t.Context(), "one", func(v *tally) error { v.Count = 10; return nil }); err != nil {
			t.Fatal(err)
		}
		got, err := tallies.UpdateFrom(t.Context(), seen, c.change)
		if !errors.Is(err, c.err) || c.err == nil && got.Count != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestUpdateFromWhatIsGoneFails(t *testing.T) {
	docs, tallies, seen := seenBox(t)
	delete(docs.records, "one")
	_, err := tallies.UpdateFrom(t.Context(), seen, func(v *tally) error { v.Count++; return nil })
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
