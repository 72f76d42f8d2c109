package tenancy

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

var auditSchema = storage.NewSchema("audit_log",
	storage.Index{Name: string(AuditByTime), Fields: []string{"org", "time"}},
	storage.Index{Name: string(AuditByUser), Fields: []string{"org", "user", "time"}},
	storage.Index{Name: string(AuditByRole), Fields: []string{"org", "role", "time"}},
	storage.Index{Name: string(AuditByActor), Fields: []string{"org", "changed_by", "time"}},
	storage.Index{Name: string(AuditBySource), Fields: []string{"org", "source", "time"}},
).With("event", "text")

func auditFields(e *identity.AuditEntry) map[string]any {
	return map[string]any{
		"org": e.OrgID, "time": e.Time, "event": string(e.Event), "user": e.Name, "role": e.NewRole.String(),
		"changed_by": e.ChangedBy, "source": string(e.Source), "text": e.Name + "\n" + e.ChangedBy,
	}
}

// AuditOrder is the first sort key of the audit log; the second is the time.
type AuditOrder string

// The orders of the audit log.
const (
	AuditByTime   AuditOrder = "when"
	AuditByUser   AuditOrder = "user"
	AuditByRole   AuditOrder = "role"
	AuditByActor  AuditOrder = "changed_by"
	AuditBySource AuditOrder = "source"
)

// AuditQuery selects entries of an organization's audit log.
type AuditQuery struct {
	OrgID string
	// Search is part of the name of the subject or actor, in any letter case; "" for all.
	Search string
	// Event is "" for all.
	Event identity.AuditEvent
	// Roles are the new ones; none means all, as for Sources.
	Roles, Sources []string
	// From and To are inclusive, in Unix seconds; nil for no bound.
	From, To *float64

	Order         AuditOrder
	Ascending     bool
	Offset, Limit int
}

// AuditLog returns a page of entries, and how many all pages have, at most storage.MaxCount.
func (t *Tenancy) AuditLog(ctx context.Context, q AuditQuery) ([]identity.AuditEntry, int64, error) {
	return storage.FindPage(ctx, t.auditLog, q.query(), q.Offset, q.Limit)
}

// WalkAuditLog returns the next entries after a cursor, MaxMany or as many as fit maxBytes, and the next cursor. The
// cursor is "" at the beginning and the end.
func (t *Tenancy) WalkAuditLog(ctx context.Context, q AuditQuery, after string, maxBytes int) ([]identity.AuditEntry, string, error) {
	query := q.query()
	query.After, query.Limit, query.MaxBytes = after, storage.MaxMany, maxBytes
	return t.auditLog.Find(ctx, query)
}

func (q *AuditQuery) query() storage.Query {
	query := storage.Query{Index: string(q.Order), Equal: []any{q.OrgID}, Descending: !q.Ascending}
	query.Narrow(q.Search != "", "text", storage.ContainsFold, q.Search)
	query.Narrow(q.Event != "", "event", storage.Equals, string(q.Event))
	query.Narrow(len(q.Roles) > 0, "role", storage.OneOf, storage.TextSet(q.Roles))
	query.Narrow(len(q.Sources) > 0, "source", storage.OneOf, storage.TextSet(q.Sources))
	if q.From != nil {
		query.Narrow(true, "time", storage.AtLeast, *q.From)
	}
	if q.To != nil {
		query.Narrow(true, "time", storage.AtMost, *q.To)
	}
	return query
}

// Record makes a change in an organization and adds it to the audit log, in one batch. change adds its writes to the
// batch, may change the organization, and describes the change, "" if nothing changes. Without writes nothing is
// stored. It may be called again.
func (t *Tenancy) Record(ctx context.Context, orgName string, by identity.Actor, subject identity.AuditSubject, change func(*evidence.Organization, *storage.Batch) (string, error)) error {
	return t.change(ctx, orgName, by, func(c *orgChange) error {
		what, err := change(&c.org, &c.batch)
		if err == nil && what != "" {
			c.record(identity.AuditEntry{Event: identity.AuditChanged, Subject: subject, Name: what})
		}
		return err
	})
}

// RecordLoss adds to all audit logs that the operator opened a database that lacks data. reason says what is missing.
func (t *Tenancy) RecordLoss(ctx context.Context, reason string) error {
	return t.EachOrganization(ctx, func(org *evidence.Organization) error {
		return t.change(ctx, org.Name, identity.Operator(), func(c *orgChange) error {
			c.record(identity.AuditEntry{Event: identity.AuditChanged, Subject: identity.AuditDatabase, Name: reason})
			// Permissions may be among the lost data.
			t.version.collection.PutIn(&c.batch, newVersion())
			return nil
		})
	})
}
