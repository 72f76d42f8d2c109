package period

import (
	"encoding/json"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

// IncidentType is the type of attestations of incidents (docs/semantics.md 26.5).
const IncidentType = evidence.CustomPrefix + "incident"

// Incident is an incident with an artifact.
type Incident struct {
	// Environment is the name of its environment, "" for all.
	Environment string
	// StartedAt and ResolvedAt are Unix seconds. ResolvedAt is 0 if it was not resolved.
	StartedAt, ResolvedAt float64
}

// IncidentOf reads an attestation. Without a start, the incident began when the attestation was recorded.
func IncidentOf(a *evidence.Attestation) Incident {
	var data struct {
		Environment string
		StartedAt   string `json:"started_at"`
		ResolvedAt  string `json:"resolved_at"`
	}
	_ = json.Unmarshal(a.Payload[attestation.DataMember], &data) // members of another form are ignored
	incident := Incident{Environment: data.Environment, StartedAt: a.CreatedAt}
	if at, ok := evidence.ParseTime(data.StartedAt); ok {
		incident.StartedAt = evidence.Seconds(at)
	}
	if at, ok := evidence.ParseTime(data.ResolvedAt); ok {
		incident.ResolvedAt = max(evidence.Seconds(at), incident.StartedAt)
	}
	return incident
}
