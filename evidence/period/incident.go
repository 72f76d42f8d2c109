package period

import (
	"encoding/json"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

// IncidentType is the type of the attestations that tell of incidents (docs/semantics.md 26.5).
const IncidentType = evidence.CustomPrefix + "incident"

// Incident is what went wrong with an artifact.
type Incident struct {
	// Environment is the name of where it did, "" for all.
	Environment string
	// StartedAt is in Unix seconds, and so is ResolvedAt, which is 0 until then.
	StartedAt, ResolvedAt float64
}

// IncidentOf reads an attestation. It began when the attestation was recorded unless that says when.
func IncidentOf(a *evidence.Attestation) Incident {
	var told struct {
		Environment string
		StartedAt   string `json:"started_at"`
		ResolvedAt  string `json:"resolved_at"`
	}
	_ = json.Unmarshal(a.Payload[attestation.DataMember], &told) // what has another form is not known
	incident := Incident{Environment: told.Environment, StartedAt: a.CreatedAt}
	if at, ok := evidence.ParseTime(told.StartedAt); ok {
		incident.StartedAt = evidence.Seconds(at)
	}
	if at, ok := evidence.ParseTime(told.ResolvedAt); ok {
		incident.ResolvedAt = max(evidence.Seconds(at), incident.StartedAt)
	}
	return incident
}
