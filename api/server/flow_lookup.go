package server

import (
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
	"context"
	"errors"
	"fmt"
)

// flowNamed resolves a name, or answers in the contract's words.
func (b *Base) flowNamed(ctx context.Context, org evidence.OrgAccess, name string) (pipelines.FlowRef, error) {
	ref, err := b.store.Flows.Resolve(ctx, org.OrgID, name)
	if errors.Is(err, storage.ErrNotFound) {
		return ref, flowUnknown(org, name)
	}
	return ref, err
}

func flowUnknown(org evidence.OrgAccess, name string) error {
	return evidence.NewError(evidence.NotFound,
		fmt.Sprintf("Flow named '%s' does not exist for organization '%s'", name, org.OrgName))
}
