package resource

import (
	"regexp"
	"unicode/utf8"

	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
)

// FlowPath is the path of an operation on a flow.
type FlowPath struct {
	server.OrgPath
	Flow string `path:"flow_name" doc:"Name of the flow."`
}

// NewFlowPath is the path of an operation that makes the flow when there is none.
type NewFlowPath struct {
	server.OrgPath
	Flow string `path:"flow_name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\.\\-_~]*$" doc:"Name of the flow."`
}

// NewTrailPath is the path of an operation that makes the flow and the trail when
// there are none.
type NewTrailPath struct {
	NewFlowPath
	Trail string `path:"trail_name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_.~]*$" doc:"Name of the trail."`
}

var validTrailName = regexp.MustCompile(trailNamePattern)

// CheckTrailName refuses a name under which no trail can be made.
func CheckTrailName(name string) error {
	found := validation.Findings{}
	if utf8.RuneCountInString(name) > evidence.MaxResourceName {
		found.Add("trail_name", validation.TooLongText(evidence.MaxResourceName), name)
	} else if !validTrailName.MatchString(name) {
		found.Add("trail_name", "String should match pattern '"+trailNamePattern+"'", name)
	}
	return validation.Invalid(found)
}
