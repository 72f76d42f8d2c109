package storage_test

import (
	"context"
	"errors"
	"testing"

	"attestry/goroutine"
	"attestry/storage"
)

func TestCombinerContinuesAfterPanics(t *testing.T) {
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

func TestCombinerChargesNoneOfItsCallers(t *testing.T) {
	var charged error
	combiner := storage.NewCombiner(func(ctx context.Context, _ string, _ []string) { charged = storage.ChargeRead(ctx, 1) })
	first := storage.WithCharge(t.Context(), func(int) error { return errors.New("the first caller may read no more") })
	if err := combiner.Do(first, "key", "item"); err != nil || charged != nil {
		t.Errorf("the charge was %v: %v", charged, err)
	}
}
