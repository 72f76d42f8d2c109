package tenancy

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/identity"
)

// RecordLoss notes in the audit log of every organization that the operator opened a database without some data. reason
// says what is missing.
func (t *Tenancy) RecordLoss(ctx context.Context, reason string) error {
	var names []string
	err := t.EachOrganization(ctx, func(org *evidence.Organization) error {
		names = append(names, org.Name)
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		err := t.change(ctx, name, identity.Operator(), func(c *orgChange) error {
			c.record(identity.AuditEntry{Event: identity.AuditChanged, Subject: identity.AuditDatabase, Name: reason})
			// The loss may concern who may do what.
			t.version.collection.PutIn(&c.batch, newVersion())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
