package recording_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/storage"
)

// largestRead records the most bytes of attestations that one command reads.
type largestRead struct {
	storage.Documents
	bytes int
}

func (l *largestRead) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	found, err := l.Documents.GetMany(ctx, schema, ids)
	bytes := 0
	for _, record := range found {
		bytes += len(record.Body)
	}
	if schema.Name == "attestations" {
		l.bytes = max(l.bytes, bytes)
	}
	return found, err
}

// TestReconcilerHoldsFewLargeFactsAtATime stores attestations of 16 MiB in all that the trail does not reflect.
func TestReconcilerHoldsFewLargeFactsAtATime(t *testing.T) {
	s := apptest.NewFixture(t)
	flow, _, err := s.PutFlow("org", "flow")
	s.Must(err)
	data := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	const facts, bound = 16, 8 << 20
	for i := range facts {
		attestation := apptest.AttestationRecord(fmt.Sprint("n", i), flow, "generic", true, float64(1000+i))
		attestation.UserData = data
		apptest.PutAttestations(t, s.Store, attestation)
	}
	largest := &largestRead{Documents: s.Docs}
	store := app.NewStore(largest, s.Objs, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Tenancy.Close)
	applied, err := store.Recorder.Reconcile(t.Context(), "org", 2000)
	if err != nil || applied != facts || largest.bytes > bound {
		t.Errorf("applied %d, %d bytes at a time: %v", applied, largest.bytes, err)
	}
	trail, err := store.Trails.Collection.Get(t.Context(), evidence.TrailKey(flow, "t"))
	if err != nil || len(trail.Entries) != facts {
		t.Errorf("the trail has %d entries: %v", len(trail.Entries), err)
	}
}
