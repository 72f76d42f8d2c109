package notify

import (
	"strconv"

	"attestry/evidence/notification"
)

// The payload of webhooks in version 1.0, in the order of docs/semantics.md 20.4. Values are texts or null.

type payload struct {
	Version     string `json:"version"`
	Timestamp   string `json:"timestamp"`
	Org         string `json:"org"`
	EventType   string `json:"event_type"`
	Description string `json:"description"`
}

type environmentPayload struct {
	payload
	Environment string                       `json:"environment"`
	Snapshot    *payloadSnapshot             `json:"snapshot"`
	Artifact    *notification.NoticeArtifact `json:"artifact"`
}

type flowPayload struct {
	payload
	Flow        string                       `json:"flow"`
	Trail       *notification.NoticeTrail    `json:"trail"`
	Artifact    *notification.NoticeArtifact `json:"artifact"`
	Attestation *payloadAttestation          `json:"attestation"`
	Approval    *payloadApproval             `json:"approval"`
}

// The following payloads must have the same fields as the parts of a notice that are converted to them.

type payloadSnapshot struct {
	Index   int64  `json:"index,string"`
	Status  string `json:"status"`
	HTMLURL string `json:"html_url"`
	APIURL  string `json:"api_url"`
}

// payloadAttestation leaves out the artifact, which has its own key.
type payloadAttestation struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	Status      string `json:"status"`
	Artifact    string `json:"-"`
	Fingerprint string `json:"-"`
	HTMLURL     string `json:"html_url"`
	APIURL      string `json:"api_url"`
}

type payloadApproval struct {
	Number      int    `json:"number,string"`
	State       string `json:"state"`
	Reviewer    string `json:"reviewer"`
	Fingerprint string `json:"fingerprint"`
}

// payloadOf returns the payload of a notice. It depends only on the notice, so that every attempt sends the same bytes.
func payloadOf(n *notification.Notice) any {
	common := payload{
		Version: notification.PayloadVersion, Timestamp: strconv.FormatFloat(n.Timestamp, 'f', -1, 64),
		Org: n.Org, EventType: n.EventType, Description: n.Description,
	}
	switch {
	case n.Environment != "":
		return environmentPayload{payload: common, Environment: n.Environment, Snapshot: (*payloadSnapshot)(n.Snapshot), Artifact: n.Artifact}
	case n.Flow != "":
		return flowPayload{
			payload: common, Flow: n.Flow, Trail: n.Trail, Artifact: n.Artifact,
			Attestation: (*payloadAttestation)(n.Attestation), Approval: (*payloadApproval)(n.Approval),
		}
	}
	return common
}
