package logs_test

import (
	"context"
	"fmt"
	"testing"

	"attestry/app/apptest"
	"attestry/storage"
	"attestry/storage/logs"
)

// retainedObjects lists few objects at a time, and deletes none.
type retainedObjects struct{ storage.Objects }

func (o retainedObjects) List(ctx context.Context, after string, _ int) ([]storage.Object, error) {
	return o.Objects.List(ctx, after, 2)
}

func (retainedObjects) Delete(context.Context, string) error { return storage.ErrRetained }

// TestLastCheckpointIsFoundAmongManyRetainedOnes keeps more checkpoints of each organization than one page lists.
func TestLastCheckpointIsFoundAmongManyRetainedOnes(t *testing.T) {
	const last = 9
	s := apptest.NewFixture(t)
	repository := logs.New(s.Docs, retainedObjects{s.Objs})
	keys := map[string]string{}
	for _, org := range []string{"acme", "acme-2", "other"} {
		for size := range int64(last + 1) {
			key, err := repository.Keep(t.Context(), org, &logs.Kept{Size: size, Note: fmt.Sprint(org, " of ", size)}, "")
			s.Must(err)
			keys[org] = key
		}
	}
	for org, want := range keys {
		kept, key, err := repository.LastKept(t.Context(), org)
		if err != nil || kept.Size != last || key != want {
			t.Errorf("%s: %+v is %s: %v", org, kept, key, err)
		}
	}
}
