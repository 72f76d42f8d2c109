package resource

import (
	"context"

	"attestry/evidence"
	"attestry/storage/names"
)

// ResolveFlow resolves a name, or answers in the contract's words.
func (b *Base) ResolveFlow(ctx context.Context, org evidence.OrgAccess, name string) (names.Entry, error) {
	ref, err := b.Flows.Resolve(ctx, org.OrgID, name)
	return ref, FlowNotFound(org, name, err)
}

// FlowNotFound words that a flow does not exist; other errors it returns as they are.
func FlowNotFound(org evidence.OrgAccess, name string, err error) error {
	return NotFound(err, "Flow named '%s' does not exist for organization '%s'", name, org.OrgName)
}
