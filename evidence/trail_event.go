package evidence

import "encoding/json"

// The types of a trail's events (docs/semantics.md 4.4).
const (
	TrailReported               = "trail_reported"
	TrailUpdated                = "trail_updated"
	TrailAttestation            = "trail_attestation_reported"
	TrailAttestationForArtifact = "trail_attestation_for_artifact_reported"
	ArtifactCreation            = "artifact_creation_reported"
	ArtifactAttestation         = "artifact_attestation_reported"
	ArtifactStartedRunning      = "artifact_started_running"
	ArtifactStoppedRunning      = "artifact_stopped_running"
)

// TrailEvent is something that happened to a trail. Events are kept as they were
// when they happened (docs/semantics.md 4.4).
type TrailEvent struct {
	// ID is unique in the trail. It follows from what happened, so that the event
	// can be stored twice.
	ID    string  `json:"id"`
	Org   string  `json:"org"`
	Flow  string  `json:"flow"`  // id
	Trail string  `json:"trail"` // key
	Time  float64 `json:"time"`
	Type  string  `json:"type"`
	// Commit and Repo are what the report told of them.
	Commit *GitCommit `json:"commit,omitempty"`
	Repo   *Repo      `json:"repo,omitempty"`
	// Data holds the members that only events of this type have, as answers show
	// them.
	Data json.RawMessage `json:"data,omitempty"`
}
