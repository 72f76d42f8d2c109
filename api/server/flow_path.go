package server

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// FlowPath is the path of an operation on a flow.
type FlowPath struct {
	OrgPath
	Flow string `path:"flow_name" doc:"Name of the flow."`
}

// NewFlowPath is the path of an operation that makes the flow when there is none.
type NewFlowPath struct {
	OrgPath
	Flow string `path:"flow_name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\.\\-_~]*$" doc:"Name of the flow."`
}

// NewTrailPath is the path of an operation that makes the flow and the trail when
// there are none.
type NewTrailPath struct {
	NewFlowPath
	Trail string `path:"trail_name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_.~]*$" doc:"Name of the trail."`
}

// flowNamed resolves a name, or answers in the contract's words.
func (h *handlers) flowNamed(ctx context.Context, org evidence.OrgAccess, name string) (pipelines.FlowRef, error) {
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

var validTrailName = regexp.MustCompile(trailNamePattern)

// checkTrailName refuses a name under which no trail can be made.
func checkTrailName(name string) error {
	found := findings{}
	if utf8.RuneCountInString(name) > evidence.MaxResourceName {
		found.add("trail_name", tooLongText(evidence.MaxResourceName), name)
	} else if !validTrailName.MatchString(name) {
		found.add("trail_name", "String should match pattern '"+trailNamePattern+"'", name)
	}
	return invalid(found)
}
