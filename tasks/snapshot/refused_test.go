package snapshot_test

import (
	"context"
	"errors"
	"testing"

	"attestry/evidence"
	rules "attestry/evidence/snapshot"
	"attestry/storage"
)

// refusing is an engine that takes no chunks while it has a fault.
type refusing struct {
	storage.Documents
	fault *error
}

func (r *refusing) InsertMany(ctx context.Context, schema *storage.Schema, records []storage.Record) (int, error) {
	if schema.Name == "chunks" && *r.fault != nil {
		return 0, *r.fault
	}
	return r.Documents.InsertMany(ctx, schema, records)
}

// TestReportThatTheDatabaseRefusesIsGivenUpAndTheRestGoesOn lets the engine refuse what
// a report comes to, whenever it is tried; and lets it be away for longer, which is not
// the report's fault.
func TestReportThatTheDatabaseRefusesIsGivenUpAndTheRestGoesOn(t *testing.T) {
	for what, c := range map[string]struct {
		fault   error
		givenUp int64
		want    rules.Verdict
	}{
		"too large": {evidence.NewError(evidence.TooLarge, "too large"), 1, rules.Failed},
		"invalid":   {evidence.NewError(evidence.Invalid, "invalid"), 1, rules.Failed},
		"away":      {errors.New("the database is away"), 0, rules.Created},
	} {
		t.Run(what, func(t *testing.T) {
			var fault error
			s := newScene(t, nil)
			worker := s.another(t, func(docs storage.Documents) storage.Documents {
				return &refusing{Documents: docs, fault: &fault}
			})
			s.accept(t, running("a"))
			fault = c.fault
			for range 7 {
				if err := worker.processor.Drain(t.Context(), s.env); err == nil {
					break
				}
			}
			s.accept(t, running("b"))
			fault = nil
			worker.drain(t)
			if verdict := s.head(t).VerdictOf(1); verdict != c.want || s.head(t).VerdictOf(2) != rules.Created {
				t.Errorf("the verdicts are %d and %d", verdict, s.head(t).VerdictOf(2))
			}
			if n := worker.processor.GivenUp(); n != c.givenUp {
				t.Errorf("%d reports were given up", n)
			}
		})
	}
}
