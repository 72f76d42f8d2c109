package notifications

import (
	"context"
	"strings"

	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/storage"
)

var deliverySchema = &storage.Schema{
	Name:   "deliveries",
	Fields: []string{"org", "action", "time", "state", "due", "settled", "stage"},
	Indexes: []storage.Index{
		{Name: "action", Fields: []string{"org", "action", "time"}},
		// Only deliveries that are to be tried have due, only the others have settled.
		{Name: "due", Fields: []string{"due"}, Required: "due"},
		{Name: "settled", Fields: []string{"settled"}, Required: "settled"},
		storage.StageIndex,
	},
}

// Deliveries keeps what targets are told, and what came of it.
type Deliveries struct {
	collection storage.Collection[notification.Delivery]
}

// NewDeliveries binds the repository to an engine.
func NewDeliveries(docs storage.Documents) *Deliveries {
	return &Deliveries{collection: storage.NewCollection(docs, deliverySchema,
		func(d *notification.Delivery) string { return deliveryID(d.Org, d.ID) },
		func(d *notification.Delivery) map[string]any {
			fields := map[string]any{"org": d.Org, "action": d.Action, "time": d.CreatedAt, "state": string(d.State)}
			if d.Due > 0 {
				fields["due"] = d.Due
			} else {
				fields["settled"] = d.CreatedAt
			}
			return storage.SetStage(fields, &d.Status)
		})}
}

func deliveryID(org, id string) string { return org + "/" + id }

// Add stores new deliveries; those that are there already stay as they are.
func (d *Deliveries) Add(ctx context.Context, deliveries []notification.Delivery) error {
	_, err := d.collection.InsertMany(ctx, deliveries)
	return err
}

// Get returns a delivery of an organization, or storage.ErrNotFound.
func (d *Deliveries) Get(ctx context.Context, org, id string) (storage.Versioned[notification.Delivery], error) {
	return d.collection.GetVersioned(ctx, deliveryID(org, id))
}

// Replace stores a delivery that is still at a revision and returns its new one, or
// storage.ErrMoved.
func (d *Deliveries) Replace(ctx context.Context, delivery notification.Delivery, revision int64) (int64, error) {
	return d.collection.Replace(ctx, delivery, revision)
}

// Update changes a delivery of an organization and returns it, or storage.ErrNotFound.
func (d *Deliveries) Update(ctx context.Context, org, id string, change func(*notification.Delivery)) (notification.Delivery, error) {
	return d.collection.Update(ctx, deliveryID(org, id), func(delivery *notification.Delivery) error {
		change(delivery)
		return nil
	})
}

// UpdateFrom is Update for a delivery that was read or written a moment ago.
func (d *Deliveries) UpdateFrom(ctx context.Context, seen storage.Versioned[notification.Delivery], change func(*notification.Delivery)) (notification.Delivery, error) {
	return d.collection.UpdateFrom(ctx, seen, func(delivery *notification.Delivery) error {
		change(delivery)
		return nil
	})
}

// Due names a page of the deliveries that are due at a time in Unix seconds, those that are due longest
// first, and gives the cursor of the next one.
func (d *Deliveries) Due(ctx context.Context, now float64, after string) ([]job.Ref, string, error) {
	found, next, err := d.collection.FindFields(ctx, storage.Query{
		Index: "due", From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: now}, After: after, Limit: storage.MaxMany,
	})
	refs := make([]job.Ref, 0, len(found))
	for _, record := range found {
		due, _ := record.Fields["due"].(float64)
		org, id, _ := strings.Cut(record.ID, "/")
		refs = append(refs, notification.DeliveryRef(org, id, due))
	}
	return refs, next, err
}

// Jobs returns a page of the deliveries that have failed for good, or of those that are to be tried, and the cursor
// of the next page.
func (d *Deliveries) Jobs(ctx context.Context, parked bool, after string) ([]job.Entry, string, error) {
	return storage.FindJobs(ctx, d.collection, "due", parked, after, func(delivery *notification.Delivery) job.Entry {
		return delivery.Entry(&job.Send, delivery.Org, deliveryID(delivery.Org, delivery.ID))
	})
}

// CountJobs counts deliveries by their stage: four commands.
func (d *Deliveries) CountJobs(ctx context.Context) (map[job.Stage]int64, error) {
	return storage.CountJobs(ctx, d.collection, "due")
}

// maxRounds bounds how many index pages List reads for a page of its own.
const maxRounds = 20

// List reads a page of the deliveries of an action behind a cursor, newest first; those of one
// state unless that is "". When too few have the state within maxRounds index pages, the page is
// short.
func (d *Deliveries) List(org string, action int64, state notification.State, after string, limit int) *storage.Batches[notification.Delivery] {
	query := deliveriesOf(org, action)
	query.Descending, query.After, query.Limit = true, after, limit
	if state != "" {
		query.Where = []storage.Condition{{Field: "state", Value: string(state)}}
	}
	return storage.LimitRounds(storage.QueryBatches(d.collection, query), maxRounds)
}

// Count returns how many deliveries an action has, at most storage.MaxCount.
func (d *Deliveries) Count(ctx context.Context, org string, action int64) (int64, error) {
	return d.collection.Count(ctx, deliveriesOf(org, action))
}

func deliveriesOf(org string, action int64) storage.Query {
	return storage.Query{Index: "action", Equal: []any{org, action}}
}

// RemoveSettled deletes deliveries that are settled and were created before a time in Unix
// seconds, at most storage.MaxMany, and returns how many.
func (d *Deliveries) RemoveSettled(ctx context.Context, before float64) (int, error) {
	found, _, err := d.collection.FindFields(ctx, storage.Query{
		Index: "settled", From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: before}, Limit: storage.MaxMany,
	})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	ids := make([]string, 0, len(found))
	for _, record := range found {
		ids = append(ids, record.ID)
	}
	return len(ids), d.collection.Delete(ctx, ids...)
}
