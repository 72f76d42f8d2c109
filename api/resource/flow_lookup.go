package resource

import (
	"context"
	"errors"
	"fmt"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// ResolveFlow resolves a name, or answers in the contract's words.
func (b *Base) ResolveFlow(ctx context.Context, org evidence.OrgAccess, name string) (pipelines.FlowRef, error) {
	ref, err := b.Flows.Resolve(ctx, org.OrgID, name)
	if errors.Is(err, storage.ErrNotFound) {
		return ref, FlowNotFound(org, name)
	}
	return ref, err
}

// FlowNotFound is the answer for a flow that does not exist.
func FlowNotFound(org evidence.OrgAccess, name string) error {
	return evidence.NewError(evidence.NotFound,
		fmt.Sprintf("Flow named '%s' does not exist for organization '%s'", name, org.OrgName))
}
