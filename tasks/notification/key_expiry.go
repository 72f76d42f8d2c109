package notification

import (
	"context"
	"errors"
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
	failed := []error{err}
	for i := range keys {
		if keys[i].AccountOrgID != "" {
			failed = append(failed, enqueueExpiring(ctx, store, &keys[i], evidence.Seconds(now)))
		}
	}
	return errors.Join(failed...)
}

func enqueueExpiring(ctx context.Context, store *app.Store, key *evidence.Key, now float64) error {
	actions, err := store.Actions.Recent(ctx, key.AccountOrgID)
	if err != nil {
		return err
	}
	event, ok := actions.ExpiringEvent(key, now)
	if !ok {
		return nil
	}
	batch := &storage.Batch{}
	return errors.Join(store.Outbox.EnqueueIn(ctx, batch, event), batch.Write(ctx, store.Documents))
}
