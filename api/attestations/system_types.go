package attestations

import (
	"attestry/api/server"
	"context"

	"attestry/evidence/attestation"
)

// SystemAttestationTypes is the answer of list_system_attestation_types
// (docs/semantics.md 8.3).
type SystemAttestationTypes struct {
	Types []SystemAttestationType `json:"system_attestation_types"`
}

// SystemAttestationType is a built-in type that has versions.
type SystemAttestationType struct {
	Name        string                         `json:"name"`
	Description string                         `json:"description"`
	Versions    []SystemAttestationTypeVersion `json:"versions"`
}

// SystemAttestationTypeVersion is one version of a built-in type.
type SystemAttestationTypeVersion struct {
	Version int            `json:"version"`
	Schema  SchemaDocument `json:"attestation_data_schema"`
}

// listSystemTypes lists what can be posted as a system attestation. The other
// built-in types (generic, junit, …) have operations and shapes of their own, no
// attestation_data and no versions, so they are not among them.
func (h *handlers) listSystemTypes(context.Context, *struct{}) (*server.Answer[SystemAttestationTypes], error) {
	return server.Answered(SystemAttestationTypes{Types: []SystemAttestationType{{
		Name:        attestation.DecisionName,
		Description: "A decision about a control: whether it is met, for an artifact or a trail.",
		Versions: []SystemAttestationTypeVersion{{
			Version: attestation.DecisionVersion,
			Schema:  SchemaDocument{attestation.DecisionSchema},
		}},
	}}}), nil
}
