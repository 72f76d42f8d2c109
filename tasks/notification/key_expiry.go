package notification

import (
	"context"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/storage"
)

// ExpiryInterval is how often EnqueueExpiring is to be called.
const ExpiryInterval = time.Hour

// EnqueueExpiring enqueues the events of keys of service accounts that expire soon. It repeats them until the next day
// on which the organization is notified: for targets that were added meanwhile, as others have the delivery already.
func EnqueueExpiring(ctx context.Context, store *app.Store, now time.Time) error {
	keys, err := store.Tenancy.ExpiringKeys(ctx, now.AddDate(0, 0, notification.MaxDaysBefore).Unix())
	if err != nil {
		return err
	}
	batch := &storage.Batch{}
	if err := store.Outbox.EnqueueExpiringIn(ctx, batch, keys, evidence.Seconds(now)); err != nil {
		return err
	}
	return batch.Write(ctx, store.Documents)
}
