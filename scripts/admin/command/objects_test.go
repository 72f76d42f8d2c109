package command

import (
	"context"
	"strings"
	"testing"

	"attestry/storage"
	"attestry/storage/filesystem"
)

// listCounter counts the lists of an object store.
type listCounter struct {
	storage.Objects
	lists int
}

func (c *listCounter) List(ctx context.Context, after string, limit int) ([]storage.Object, error) {
	c.lists++
	return c.Objects.List(ctx, after, limit)
}

func TestObjectsAreNotListedOneByOne(t *testing.T) {
	stores := make([]*listCounter, 2)
	for i := range stores {
		objects, err := filesystem.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer objects.Close()
		stores[i] = &listCounter{Objects: objects}
	}
	for i := range 20 {
		if _, err := stores[0].Put(t.Context(), "org", strings.NewReader(strings.Repeat("x", i)), -1); err != nil {
			t.Fatal(err)
		}
	}
	c := &objectCopy{from: stores[0], to: stores[1], out: t.Output(), errs: t.Output()}
	if err := c.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Each store is read three times, with one list for the page and one for the end.
	if from, to := stores[0].lists, stores[1].lists; from > 6 || to > 6 {
		t.Errorf("the source was listed %d times, the target %d times", from, to)
	}
}
