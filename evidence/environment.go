package evidence

import "slices"

// EnvironmentType is the kind of runtime an environment stands for, spelled as
// in the contract (contract/requests.md, CreateEnvironmentPutInput).
type EnvironmentType string

// The environment types. A logical environment unites physical ones and is never
// reported to.
const (
	K8S         EnvironmentType = "K8S"
	ECS         EnvironmentType = "ECS"
	S3          EnvironmentType = "S3"
	Lambda      EnvironmentType = "lambda"
	Server      EnvironmentType = "server"
	Docker      EnvironmentType = "docker"
	AzureApps   EnvironmentType = "azure-apps"
	CloudRun    EnvironmentType = "cloud-run"
	LogicalType EnvironmentType = "logical"
)

// Environment is what an organization has configured about one of its
// environments. What changes with every report is in its Head.
type Environment struct {
	ID          string          `json:"id"`
	Org         string          `json:"org"`
	Name        string          `json:"name"`
	Type        EnvironmentType `json:"type"`
	Description string          `json:"description"`
	// IncludeScaling and RequireProvenance are kept as sent and change nothing
	// (contract/README.md choice 1, semantics.md 4.1).
	IncludeScaling    bool `json:"include_scaling"`
	RequireProvenance bool `json:"require_provenance"`
	// Included holds the ids of the members of a logical environment, in the
	// order they were given.
	Included       []string          `json:"included,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	CreatedAt      float64           `json:"created_at"`
	CreatedBy      string            `json:"created_by"`
	LastModifiedAt float64           `json:"last_modified_at"`
}

// Logical tells whether the environment unites others.
func (e *Environment) Logical() bool { return e.Type == LogicalType }

// EnvironmentChange is a write to an environment; nil members were not sent.
type EnvironmentChange struct {
	Description       *string
	IncludeScaling    *bool
	RequireProvenance *bool
	// Included holds ids.
	Included *[]string
}

// Apply patches the environment and tells whether anything changed. An empty
// description is taken as not sent: the repeated PUT does not clear it
// (contract/semantics.md 10, "What an absent member means").
func (e *Environment) Apply(change EnvironmentChange) bool {
	before := *e
	if change.Description != nil && *change.Description != "" {
		e.Description = *change.Description
	}
	if change.IncludeScaling != nil {
		e.IncludeScaling = *change.IncludeScaling
	}
	if change.RequireProvenance != nil {
		e.RequireProvenance = *change.RequireProvenance
	}
	if change.Included != nil {
		e.Included = *change.Included
	}
	return before.Description != e.Description ||
		before.IncludeScaling != e.IncludeScaling ||
		before.RequireProvenance != e.RequireProvenance ||
		!slices.Equal(before.Included, e.Included)
}
