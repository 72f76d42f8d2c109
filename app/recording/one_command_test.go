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
	"attestry/evidence/approval"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
)

// commandCounter counts the commands that write.
type commandCounter struct {
	storage.Documents
	commands int
	// refusals is how many more batches with a write of the collection refused are refused, as if it had changed.
	refusals int
	refused  string
}

func (c *commandCounter) Write(ctx context.Context, writes ...storage.Write) error {
	check := slices.IndexFunc(writes, func(w storage.Write) bool { return w.Schema.Name == c.refused })
	if c.refusals > 0 && check >= 0 {
		c.refusals--
		return &storage.RefusedWrite{Index: check, Reason: storage.ErrMoved}
	}
	c.commands++
	return c.Documents.Write(ctx, writes...)
}

// TestFactIsRecordedWithOneCommand shows that a killed process leaves no unfinished facts if its engine applies a
// command atomically.
func TestFactIsRecordedWithOneCommand(t *testing.T) {
	scope := recording.Scope{Org: "org", OrgName: "org", Flow: "flow", Trail: "trail", By: "me", ByID: "me", At: 100}
	attest := func(ctx context.Context, s *app.Store, _ string) error {
		return s.Recorder.Attest(ctx, scope, evidence.Attestation{
			ID: evidence.NewID(), Org: "org", Trail: "trail", Name: "n", Type: evidence.TypeGeneric, CreatedAt: 100,
		}, nil)
	}
	report := func(ctx context.Context, s *app.Store, _ string) error {
		return s.Recorder.Report(ctx, scope, evidence.ArtifactRecord{
			ID: evidence.NewID(), Org: "org", Trail: "trail", Name: "api", Fingerprint: "f1", CreatedAt: 100,
		}, nil)
	}
	approve := func(ctx context.Context, s *app.Store, flow string) error {
		return s.Recorder.Approve(ctx, approval.Approval{
			ID: evidence.NewID(), Org: "org", Flow: flow, Trail: "trail", Target: "f1", State: approval.Pending, CreatedAt: 100,
		})
	}
	for name, row := range map[string]struct {
		record   func(ctx context.Context, s *app.Store, flow string) error
		refusals int
	}{
		"artifact":    {report, 0},
		"attestation": {attest, 0},
		"attestation while the running set changes":        {attest, 3},
		"attestation while the running set always changes": {attest, 6},
		"approval": {approve, 0},
	} {
		t.Run(name, func(t *testing.T) {
			docs := &commandCounter{Documents: pebbletest.Open(t, t.TempDir(), app.Schemas()), refused: "running_versions"}
			s := app.NewStore(docs, nil, func() time.Time { return time.Unix(100, 0) }, slog.New(slog.DiscardHandler))
			t.Cleanup(s.Tenancy.Close)
			evidencetest.Must(t, report(t.Context(), s, ""))
			flow, err := s.Flows.Resolve(t.Context(), "org", "flow")
			evidencetest.Must(t, err)
			docs.commands, docs.refusals = 0, row.refusals
			evidencetest.Must(t, row.record(t.Context(), s, flow.ID))
			if docs.commands != 1 || docs.refusals != 0 {
				t.Errorf("%d commands, and %d refusals left, want 1 and 0", docs.commands, docs.refusals)
			}
		})
	}
}
