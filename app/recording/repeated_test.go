package recording_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
)

// halfWritten does a command in part, as an engine without atomic batches may, and refuses the rest.
type halfWritten struct {
	storage.Documents
	// last is the collection up to which the next command that writes to it is done, or "". meanwhile is called then.
	last      string
	meanwhile func()
}

func (h *halfWritten) Write(ctx context.Context, writes ...storage.Write) error {
	at := slices.IndexFunc(writes, func(w storage.Write) bool { return w.Schema.Name == h.last })
	if h.last == "" || at < 0 {
		return h.Documents.Write(ctx, writes...)
	}
	h.last = ""
	if err := h.Documents.Write(ctx, writes[:at+1]...); err != nil {
		return err
	}
	h.meanwhile()
	return &storage.RefusedWrite{Index: at + 1, Reason: storage.ErrMoved}
}

// TestArtifactAndProvenanceHaveTheSameTime has another process report the same artifact while the first report is
// stored only in part.
func TestArtifactAndProvenanceHaveTheSameTime(t *testing.T) {
	for _, last := range []string{"artifacts", "trails", "provenance"} {
		t.Run(last, func(t *testing.T) {
			engine := pebbletest.Open(t, t.TempDir(), app.Schemas())
			docs := &halfWritten{Documents: engine}
			process := func(docs storage.Documents) *app.Store {
				store := app.NewStore(docs, nil, func() time.Time { return time.Unix(100, 0) }, slog.New(slog.DiscardHandler))
				t.Cleanup(store.Tenancy.Close)
				return store
			}
			one, other := process(docs), process(engine)
			report := func(store *app.Store, trail, fingerprint string, at float64) {
				scope := recording.Scope{Org: "org", OrgName: "org", Flow: "flow", Trail: trail, By: "me", ByID: "me", At: at}
				if err := store.Recorder.Report(t.Context(), scope, evidence.ArtifactRecord{
					ID: evidence.NewID(), Org: "org", Trail: trail, Name: "api", Fingerprint: fingerprint, CreatedAt: at,
				}, nil); err != nil {
					t.Error(err)
				}
			}
			report(other, "1", "f0", 1)
			flow, err := one.Flows.Resolve(t.Context(), "org", "flow")
			evidencetest.Must(t, err)
			docs.last, docs.meanwhile = last, func() { report(other, "2", "f1", 4000) }
			report(one, "1", "f1", 100)
			records, err := storage.FindAll(t.Context(), one.Artifacts.Collection, storage.Query{
				Index: "flow_fingerprint", Equal: []any{"org", flow.ID, "f1"}, Limit: storage.MaxMany,
			})
			if err != nil || len(records) != 2 || docs.last != "" {
				t.Fatalf("%d records: %v", len(records), err)
			}
			known, err := one.Provenances.GetMany(t.Context(), "org", []string{"f1"})
			evidencetest.Must(t, err)
			if first := known[0].Flows[flow.ID].First; first != records[0].CreatedAt {
				t.Errorf("the first record is of %v, the provenance has %v", records[0].CreatedAt, first)
			}
		})
	}
}
