package storage_test

import (
	"context"
	"errors"
	"testing"

	"attestry/goroutine"
	"attestry/storage"
)

func TestCombinerOutlivesPanics(t *testing.T) {
	combiner := storage.NewCombiner(func(_ context.Context, _ string, items []string) {
		if items[0] == "bad" {
			panic("a bad item")
		}
	})
	if err := combiner.Do(t.Context(), "key", "bad"); !errors.Is(err, goroutine.ErrPanicked) {
		t.Errorf("the bad item: %v", err)
	}
	if err := combiner.Do(t.Context(), "key", "good"); err != nil {
		t.Errorf("the good item behind it: %v", err)
	}
}
