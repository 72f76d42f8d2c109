package notification

import (
	"strings"

	"attestry/evidence"
)

// The types of events as payloads name them (docs/semantics.md 20.4).
const (
	EventArtifactStarted  = "ARTIFACT_STARTED"
	EventArtifactExited   = "ARTIFACT_EXITED"
	EventArtifactScaled   = "ARTIFACT_SCALED"
	EventArtifactAllowed  = "ARTIFACT_ALLOWED"
	EventNonCompliant     = "ENVIRONMENT_NON_COMPLIANT"
	EventCompliant        = "ENVIRONMENT_COMPLIANT"
	EventBreakGlass       = "ADMISSION_BREAK_GLASS"
	EventTrailStarted     = "TRAIL_STARTED"
	EventArtifactReported = "ARTIFACT_REPORTED"
	EventAttestation      = "ATTESTATION_REPORTED"
	EventApproval         = "APPROVAL_REPORTED"
	EventKeyExpires       = "API_KEY_EXPIRES"
	EventTest             = "TEST"
)

// Notice is the message for targets, with the names and links at the time it was made. It refers to nothing stored, so
// that it can be sent again unchanged.
type Notice struct {
	// ID is the same for all targets and attempts.
	ID        string  `json:"id"`
	EventType string  `json:"event_type"`
	Org       string  `json:"org"`       // name
	Timestamp float64 `json:"timestamp"` // when it happened, in Unix seconds
	// Action is the name of the action that fired.
	Action string `json:"action"`
	// Description is a sentence about the event.
	Description string `json:"description"`
	// Environment is the name of the environment, "" for an event in a flow.
	Environment string          `json:"environment,omitempty"`
	Snapshot    *NoticeSnapshot `json:"snapshot,omitempty"`
	Artifact    *NoticeArtifact `json:"artifact,omitempty"`
	// Flow is the name of the flow, "" for an event in an environment.
	Flow        string             `json:"flow,omitempty"`
	Trail       *NoticeTrail       `json:"trail,omitempty"`
	Attestation *NoticeAttestation `json:"attestation,omitempty"`
	Approval    *NoticeApproval    `json:"approval,omitempty"`
	// Details are further sentences for people, at most MaxDetails, such as why an artifact fails.
	Details []string `json:"details,omitempty"`
	// Link is the URL of a page about the event.
	Link string `json:"link"`
}

// MaxDetails bounds the details of a notice.
const MaxDetails = 20

// NoticeSnapshot is a snapshot in notices. Status is "compliant", "non-compliant" or "unknown".
type NoticeSnapshot struct {
	Index   int64  `json:"index"`
	Status  string `json:"status"`
	HTMLURL string `json:"html_url"`
	APIURL  string `json:"api_url"`
}

// NoticeArtifact is an artifact in notices. Provenance is nil if it has none.
type NoticeArtifact struct {
	Name        string            `json:"name"`
	Fingerprint string            `json:"fingerprint"`
	Provenance  *NoticeProvenance `json:"provenance"`
}

// NoticeProvenance is an artifact's origin. Unknown URLs and commits are "".
type NoticeProvenance struct {
	Flow      string `json:"flow"`
	Status    string `json:"status"`
	Commit    string `json:"commit"`
	CommitURL string `json:"commit_url"`
	HTMLURL   string `json:"html_url"`
	APIURL    string `json:"api_url"`
	BuildURL  string `json:"build_url"`
}

// NoticeTrail is a trail in notices.
type NoticeTrail struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	HTMLURL string `json:"html_url"`
	APIURL  string `json:"api_url"`
}

// NoticeAttestation is an attestation in notices.
type NoticeAttestation struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Status string `json:"status"`
	// Artifact is the name of the attested artifact, "" for the trail.
	Artifact    string `json:"artifact,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	HTMLURL     string `json:"html_url"`
	APIURL      string `json:"api_url"`
}

// NoticeApproval is an approval in notices.
type NoticeApproval struct {
	Number      int    `json:"number"`
	State       string `json:"state"`
	Reviewer    string `json:"reviewer,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

// NoticeID is the id of a notice, derived from the parts.
func NoticeID(parts ...string) string { return evidence.DerivedID([]byte(strings.Join(parts, "\n"))) }
