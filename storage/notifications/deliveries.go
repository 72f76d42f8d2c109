package notifications

import (
	"context"
	"strings"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/storage"
	"attestry/trace"
)

var deliverySchema = storage.NewSchema("deliveries",
	storage.Index{Name: "action", Fields: []string{"org", "action", "time"}},
	// Only pending deliveries have due, only the others have settled, the time of their creation.
	storage.Index{Name: "due", Fields: []string{"due"}, Required: "due"},
	storage.Index{Name: "settled", Fields: []string{"settled"}, Required: "settled"},
	storage.StageIndex,
).With("state", "trace")

// Deliveries keeps deliveries to targets and their outcome.
type Deliveries struct {
	storage.JobList[notification.Delivery]
}

// NewDeliveries binds the repository to an engine.
func NewDeliveries(docs storage.Documents) *Deliveries {
	collection := storage.NewCollection(docs, deliverySchema,
		func(d *notification.Delivery) string { return deliveryID(d.Org, d.ID) },
		func(d *notification.Delivery) map[string]any {
			fields := map[string]any{"org": d.Org, "action": d.Action, "time": d.CreatedAt, "state": string(d.State)}
			if d.Trace != "" {
				fields["trace"] = d.Trace
			}
			if d.Due > 0 {
				fields["due"] = d.Due
			} else {
				fields["settled"] = d.CreatedAt
			}
			return storage.SetStage(fields, &d.Status)
		})
	return &Deliveries{storage.NewJobList(collection, "due", func(d *notification.Delivery) job.Entry {
		return d.Entry(&job.Send, d.Org, deliveryID(d.Org, d.ID))
	})}
}

func deliveryID(org, id string) string { return org + "/" + id }

// Add stores new deliveries, which belong to the trace of the context; those that exist stay as they are.
func (d *Deliveries) Add(ctx context.Context, deliveries []notification.Delivery) error {
	for i := range deliveries {
		deliveries[i].Trace = trace.Reference(ctx)
	}
	return d.Collection.Add(ctx, deliveries...)
}

// Get returns a delivery of an organization, or storage.ErrNotFound.
func (d *Deliveries) Get(ctx context.Context, org, id string) (storage.Versioned[notification.Delivery], error) {
	return d.Collection.GetVersioned(ctx, deliveryID(org, id))
}

// Update changes a delivery of an organization and returns it, or storage.ErrNotFound.
func (d *Deliveries) Update(ctx context.Context, org, id string, change func(*notification.Delivery)) (notification.Delivery, error) {
	return d.JobList.Update(ctx, deliveryID(org, id), change)
}

// Due returns a page of the deliveries that are due at a time in Unix seconds, the earliest first, and the next cursor.
func (d *Deliveries) Due(ctx context.Context, now float64, after string) ([]job.Ref, string, error) {
	found, next, err := d.Collection.FindFields(ctx, storage.Query{
		Index: "due", From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: now}, After: after, Limit: storage.MaxMany,
	})
	refs := evidence.Map(found, func(record storage.Record) job.Ref {
		org, id, _ := strings.Cut(record.ID, "/")
		ref := notification.DeliveryRef(org, id, record.Float("due"))
		ref.Payload.Trace = record.Text("trace")
		return ref
	})
	return refs, next, err
}

// List reads a page of the deliveries of an action after a cursor, newest first, in one state unless that is "". The
// page is short if too few have the state within as many index pages as it may read.
func (d *Deliveries) List(org string, action int64, state notification.State, after string, limit int) *storage.Batches[notification.Delivery] {
	query := deliveriesOf(org, action)
	query.Descending, query.After, query.Limit = true, after, limit
	query.Narrow(state != "", "state", storage.Equals, string(state))
	return storage.PageBatches(d.Collection, query)
}

// Count returns how many deliveries an action has, at most storage.MaxCount.
func (d *Deliveries) Count(ctx context.Context, org string, action int64) (int64, error) {
	return d.Collection.Count(ctx, deliveriesOf(org, action))
}

func deliveriesOf(org string, action int64) storage.Query {
	return storage.Query{Index: "action", Equal: []any{org, action}}
}

// RemoveFinished deletes settled deliveries that were created before a time in Unix seconds, at most storage.MaxMany,
// and returns how many.
func (d *Deliveries) RemoveFinished(ctx context.Context, before float64) (int, error) {
	return storage.DeleteFound(ctx, d.Collection, storage.Query{
		Index: "settled", From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: before}, Limit: storage.MaxMany,
	})
}
