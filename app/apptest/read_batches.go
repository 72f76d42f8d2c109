package apptest

import (
	"testing"

	"attestry/storage"
)

// AllOf reads a list to its end.
func AllOf[T any](t *testing.T, list *storage.Batches[T]) []T {
	t.Helper()
	var all []T
	for _, batch := range QueryBatches(t, list, WholeBatch) {
		all = append(all, batch...)
	}
	return all
}

// QueryBatches reads a list to its end, in batches of at most maxBytes.
func QueryBatches[T any](t *testing.T, list *storage.Batches[T], maxBytes int) [][]T {
	t.Helper()
	var batches [][]T
	for list.More() {
		batch, err := list.Next(t.Context(), maxBytes)
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, batch)
	}
	if batch, err := list.Next(t.Context(), maxBytes); len(batch) > 0 || err != nil {
		t.Errorf("after the end there are %d documents, %v", len(batch), err)
	}
	return batches
}

// WholeBatch is larger than any list in the tests, in bytes.
const WholeBatch = 1 << 30
