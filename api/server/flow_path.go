package server

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"attestry/evidence"
	"attestry/storage"
)

// FlowPath is the path of an operation on a flow.
type FlowPath struct {
	OrgPath
	Flow string `path:"flow_name" doc:"Name of the flow."`
}

// flowNamed resolves a name, or answers in the contract's words.
func (h *handlers) flowNamed(ctx context.Context, org evidence.OrgAccess, name string) (storage.FlowRef, error) {
	ref, err := h.store.Flows.Resolve(ctx, org.OrgID, name)
	if errors.Is(err, storage.ErrNotFound) {
		return ref, flowUnknown(org, name)
	}
	return ref, err
}

func flowUnknown(org evidence.OrgAccess, name string) error {
	return evidence.NewError(evidence.NotFound,
		fmt.Sprintf("Flow named '%s' does not exist for organization '%s'", name, org.OrgName))
}

var (
	validFlowName  = regexp.MustCompile(flowNamePattern)
	validTrailName = regexp.MustCompile(trailNamePattern)
)

// checkNames refuses the names of a path under which nothing could be made.
func checkNames(flow, trail string) error {
	found := findings{}
	if !validFlowName.MatchString(flow) {
		found.add("flow_name", "String should match pattern '"+flowNamePattern+"'", flow)
	}
	if !validTrailName.MatchString(trail) {
		found.add("trail_name", "String should match pattern '"+trailNamePattern+"'", trail)
	}
	return invalid(found)
}
