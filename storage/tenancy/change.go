package tenancy

import (
	"context"
	"errors"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

const (
	// changeTimeout is how long a change is retried. An attempt is refused if another process has made one meanwhile.
	changeTimeout = 10 * time.Second
	// changePause is the mean pause between two attempts.
	changePause = 10 * time.Millisecond
)

// orgChange is a change of permissions in an organization. It replaces the organization's document first, which
// serializes the changes of one organization. The other writes of a change may not be visible to the next one yet. So a
// change relies only on that document, and on the document that it replaces at the revision it has read.
type orgChange struct {
	org evidence.Organization
	by  identity.Actor
	// batch has the writes; without any, nothing changes. Only its first write may be refused: an engine may have
	// applied the writes before a refused one, and the next attempt would take them for those of another request.
	batch storage.Batch
	// entries are those of the audit log.
	entries []identity.AuditEntry
	// invalidate means that the caches of all processes must be cleared.
	invalidate bool
}

// roleEntry is the entry of a subject that had a role and has another one, NoRole for none.
func roleEntry(event identity.AuditEvent, subject identity.AuditSubject, name string, old, role evidence.Role) identity.AuditEntry {
	return identity.AuditEntry{Event: event, Subject: subject, Name: name, OldRole: old, NewRole: role}
}

func (c *orgChange) record(entry identity.AuditEntry) {
	entry.OrgID, entry.ChangedBy, entry.Source = c.org.ID, c.by.Name, c.by.Source
	c.entries = append(c.entries, entry)
}

// change changes permissions in an organization, or returns ErrNotFound. decide reads what it needs and adds writes; it
// is called again if another change came first. Entries of the audit log are written before the changes: if the process
// ends in between, the log has a change that was not made, but no change is missing.
//
// A process makes the changes of one organization one at a time, as all of them replace its document.
func (t *Tenancy) change(ctx context.Context, orgName string, by identity.Actor, decide func(*orgChange) error) error {
	release, err := t.lock(ctx, orgName)
	if err != nil {
		return err
	}
	defer release()
	entries := &writtenEntries{}
	for begun := time.Now(); time.Since(begun) < changeTimeout; {
		refused, err := t.tryChange(ctx, orgName, by, decide, entries)
		if !refused {
			return err
		}
		if err := storage.Pause(ctx, changePause); err != nil {
			return errors.Join(err, t.deleteEntries(ctx, entries))
		}
	}
	busy := evidence.Busy("The organization is being changed by many requests at once, please try again.")
	return errors.Join(busy, t.deleteEntries(ctx, entries))
}

// writtenEntries are the ids of the entries that earlier attempts of a change may have written. Each attempt has its
// own entries, as those in the transparency log must not change, and deletes the others.
type writtenEntries struct{ ids []string }

// deleteEntries deletes the entries of a change that was not made: an engine without atomic batches may have written
// them. After an error of the database they stay, as the change may have been made.
func (t *Tenancy) deleteEntries(ctx context.Context, entries *writtenEntries) error {
	if len(entries.ids) == 0 {
		return nil
	}
	return t.auditLog.Delete(context.WithoutCancel(ctx), entries.ids...)
}

// tryChange tries once; refused means that another change came first.
func (t *Tenancy) tryChange(ctx context.Context, orgName string, by identity.Actor, decide func(*orgChange) error, entries *writtenEntries) (refused bool, err error) {
	read, err := t.organizations.GetVersioned(ctx, orgName)
	if err != nil {
		return false, err
	}
	c := &orgChange{org: read.Value, by: by}
	if err = t.checkActor(ctx, c.org, &by); err == nil {
		err = decide(c)
	}
	if err != nil || c.batch.Len() == 0 {
		return false, errors.Join(err, t.deleteEntries(ctx, entries))
	}
	var batch storage.Batch
	org := c.org
	now := evidence.Seconds(t.clock())
	for i := range c.entries {
		org.AuditedAt = evidence.TimeAfter(org.AuditedAt, now)
		c.entries[i].ID, c.entries[i].Time = evidence.NewID(), org.AuditedAt
	}
	t.organizations.ReplaceIn(&batch, &org, read.Revision)
	t.auditLog.PutIn(&batch, c.entries...)
	t.auditLog.DeleteIn(&batch, entries.ids...)
	entries.ids = append(entries.ids, evidence.Map(c.entries, func(entry identity.AuditEntry) string { return entry.ID })...)
	batch.Append(&c.batch)
	if c.invalidate {
		t.version.collection.PutIn(&batch, newVersion())
		defer t.clearCaches()
	}
	err = batch.Write(ctx, t.docs)
	return errors.Is(err, storage.ErrMoved) || errors.Is(err, storage.ErrExists), err
}

// checkActor refuses an actor who has lost the role since the request was admitted, such as while it waited for the lock.
func (t *Tenancy) checkActor(ctx context.Context, org evidence.Organization, by *identity.Actor) error {
	if by.Role == evidence.NoRole {
		return nil
	}
	role, _, err := t.role(ctx, org, by.Principal())
	if err == nil && !role.Allows(by.Role) {
		err = accessDenied()
	}
	return err
}

func (t *Tenancy) clearCaches() {
	t.knownKeys.Clear()
	t.unknownKeys.Clear()
	t.accesses.Clear()
	t.certified.Clear()
	t.providers.Clear()
	t.issuers.Clear()
}

// lock excludes other changes of an organization in this process until release is called.
func (t *Tenancy) lock(ctx context.Context, orgName string) (release func(), err error) {
	held, leave := t.locks.Use(orgName)
	if err := held.Acquire(ctx, 1); err != nil {
		leave()
		return nil, err
	}
	return func() {
		held.Release(1)
		leave()
	}, nil
}
