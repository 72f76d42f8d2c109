package environments

import (
	"context"
	"errors"
	"time"

	"attestry/evidence"
	"attestry/evidence/admission"
	"attestry/evidence/notification"
	"attestry/storage"
)

var admissionSchema = storage.NewSchema("admissions",
	storage.Index{Name: "environment", Fields: []string{"environment", "time"}},
	storage.Index{Name: "time", Fields: []string{"time"}})

// brokenGlassSchema declares the records that are kept for good: those of workloads that broke glass.
var brokenGlassSchema = storage.NewSchema("broken_glass", storage.Index{Name: "environment", Fields: []string{"environment", "time"}})

// expiredAdmissions bounds how many expired records are deleted whenever one is stored.
const expiredAdmissions = 20

// Admissions keeps records of admission: denials, warnings and workloads that broke glass.
type Admissions struct {
	docs        storage.Documents
	outbox      Outbox
	collection  storage.Collection[admission.Record]
	brokenGlass storage.Collection[admission.Record]
}

// NewAdmissions binds the repository to an engine.
func NewAdmissions(docs storage.Documents, outbox Outbox) *Admissions {
	id := func(r *admission.Record) string { return r.ID }
	fields := func(r *admission.Record) map[string]any {
		return map[string]any{"environment": r.Environment, "time": r.FirstAt}
	}
	return &Admissions{
		docs: docs, outbox: outbox, collection: storage.NewCollection(docs, admissionSchema, id, fields),
		brokenGlass: storage.NewCollection(docs, brokenGlassSchema, id, fields),
	}
}

// Record stores a record, or counts it as a repeat, and notifies actions of a new one that broke glass. It deletes some
// expired records.
func (a *Admissions) Record(ctx context.Context, fresh admission.Record) error {
	if _, err := storage.DeleteFound(ctx, a.collection, storage.Query{
		Index: "time", To: &storage.Bound{Value: fresh.LastAt - admission.KeepFor.Seconds()}, Limit: expiredAdmissions,
	}); err != nil {
		return err
	}
	batch := &storage.Batch{}
	// The event is written before the record, as a repeat of the record adds none. A repeated event notifies once.
	if fresh.Outcome == admission.BreakGlass {
		if err := a.outbox.EnqueueIn(ctx, batch, notification.BreakGlassEvent(fresh)); err != nil {
			return err
		}
		a.brokenGlass.AddIn(batch, fresh)
	}
	a.collection.InsertIn(batch, &fresh)
	err := batch.Write(ctx, a.docs)
	if errors.Is(err, storage.ErrExists) {
		_, err = a.collection.Update(ctx, fresh.ID, storage.WithoutError(func(stored *admission.Record) { stored.Repeat(fresh) }))
	}
	return err
}

// List returns a page of the records of an environment that have not expired, newest first, and how many there are, at
// most storage.MaxCount.
func (a *Admissions) List(ctx context.Context, environment string, now time.Time, offset, limit int) ([]admission.Record, int64, error) {
	return storage.FindPage(ctx, a.collection, storage.Query{
		Index: "environment", Equal: []any{environment}, From: &storage.Bound{Value: evidence.Seconds(now.Add(-admission.KeepFor))}, Descending: true,
	}, offset, limit)
}

// BrokenGlass calls yield with the records, oldest first, of workloads that broke glass in environments between two
// times in Unix seconds, both included.
func (a *Admissions) BrokenGlass(ctx context.Context, environments []string, from, to float64, yield func(*admission.Record) error) error {
	return storage.ForEach(ctx, a.brokenGlass, storage.Query{
		Index: "environment", Equal: []any{storage.OneOrSet(environments)}, From: &storage.Bound{Value: from}, To: &storage.Bound{Value: to},
		Limit: storage.MaxMany,
	}, yield)
}
