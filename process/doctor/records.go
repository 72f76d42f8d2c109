package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/logs"
)

const (
	// expiryNotice is how long before the expiry of a key or a certificate there is a warning.
	expiryNotice = 30 * 24 * time.Hour
	// maxWait is how long work may be due, and maxLag how long facts may wait to be logged, without a warning.
	maxWait = 5 * time.Minute
	maxLag  = time.Minute
)

func examineKeys(ctx context.Context, s *Subject) (found []Finding, err error) {
	orgs := map[string]string{}
	err = s.Store.Tenancy.EachOrganization(ctx, func(org *evidence.Organization) error {
		orgs[org.ID] = org.Name + "/"
		return nil
	})
	if err != nil {
		return nil, err
	}
	expiring, err := s.Store.Tenancy.ExpiringKeys(ctx, s.Clock().Add(expiryNotice).Unix())
	for _, key := range expiring {
		owner := orgs[key.AccountOrgID] + key.OwnerName
		found = append(found, warning("make another with admin keys issue "+owner+", and use that",
			"the key %s of %s (%s) expires at %s", key.ID, owner, key.Description, time.Unix(key.ExpiresAt, 0).UTC().Format(time.RFC3339)))
	}
	return orOK(found, "none expires within 30 days"), err
}

// examineWork reads the first page of each kind of durable work, which has the oldest entries.
func examineWork(ctx context.Context, s *Subject) (found []Finding, err error) {
	due, more := 0, ""
	for _, page := range s.JobPages() {
		entries, next, err := page(ctx, "")
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			continue
		}
		first := &entries[0]
		since := seconds(evidence.Seconds(s.Clock()) - first.Since)
		switch {
		case first.Stage == job.Parked:
			found = append(found, warning("see admin jobs list, and retry or drop it", "%s is parked, %d or more: %s", first.Kind.Name, len(entries), first.Reason))
		case since > maxWait:
			found = append(found, warning("see that enough workers serve the queue "+first.Kind.Queue, "%s has been due for %v", first.Kind.Name, since))
		}
		if due += len(entries); next != "" {
			more = " or more"
		}
	}
	return orOK(found, "%d%s to be done, none parked", due, more), nil
}

// examineLogs compares each transparency log with its checkpoints.
func examineLogs(ctx context.Context, s *Subject) (found []Finding, err error) {
	keys, err := s.Settings.Log.Keys()
	if err != nil {
		return nil, err
	}
	count, entries := 0, int64(0)
	err = s.Store.Tenancy.EachOrganization(ctx, func(org *evidence.Organization) error {
		log, reason, err := checkConsistency(ctx, s.Store.Logs, org.ID)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", org.Name, err)
		case reason != "":
			found = append(found, Finding{State: Error, Measured: log.Origin + ": " + reason, Advice: "restore the database as it was, or see admin log continue"})
		case len(keys) > 0 && log.Signed > 0 && !signedBy(keys, &log):
			found = append(found, warning("use the file with the key that signed it: auditors trust no other", "no key of ATTESTRY_LOG_KEY_FILE has signed the last checkpoint of %s", log.Origin))
		}
		count, entries = count+1, entries+log.Signed
		return nil
	})
	if err != nil {
		return nil, err
	}
	lag, err := s.Store.Logs.Lag(ctx, evidence.Seconds(s.Clock()))
	switch {
	case len(keys) == 0 && count > 0:
		found = append(found, warning("set ATTESTRY_LOG_KEY_FILE for all processes", "there are %d logs, and without ATTESTRY_LOG_KEY_FILE they are not continued", count))
	case len(keys) > 0 && lag > maxLag.Seconds():
		found = append(found, warning("see that a worker serves the queue log", "a fact has waited for %v to be logged", seconds(lag)))
	}
	return orOK(found, "%d entries of %d logs are consistent with the checkpoints", entries, count), err
}

// checkConsistency returns a log, and why it is not consistent with its last checkpoint or the last kept one, "" if it
// is. It reads the kept one before the log, as others may extend the log meanwhile.
func checkConsistency(ctx context.Context, all *logs.Logs, org string) (log logs.Log, reason string, err error) {
	kept, _, err := all.LastKept(ctx, org)
	if err == nil {
		log, err = all.Get(ctx, org)
	}
	for _, checkpoint := range []logs.Kept{kept, {Generation: log.Generation, Size: log.Signed, Note: log.Checkpoint}} {
		if err == nil && reason == "" {
			reason, err = all.CheckConsistent(ctx, &log, checkpoint)
		}
	}
	return log, reason, err
}

func signedBy(keys translog.Keys, log *logs.Log) bool {
	_, err := translog.OpenCheckpoint(log.Checkpoint, keys.Verifiers(log.Origin)...)
	return err == nil
}
