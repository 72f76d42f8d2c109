// Package approval has the approvals of artifacts, which are the numbered releases of a flow (docs/semantics.md 19.1).
package approval

import (
	"encoding/json"
	"strconv"

	"attestry/evidence"
)

// State is the state of an approval, as the API writes it.
type State string

// The states of approvals. Only the first two are those of a review.
const (
	Approved   State = "APPROVED"
	Unapproved State = "UNAPPROVED"
	Pending    State = "PENDING"
)

// Approval is the approval of an artifact's release, or a request for one. It is immutable.
type Approval struct {
	ID   string `json:"id"`
	Org  string `json:"org"`
	Flow string `json:"flow"` // id
	// Number is the release number: 1, 2, 3, … in the flow.
	Number int `json:"number"`
	// Record is the id of the artifact's newest record in the flow, and Trail the name of that record's trail.
	Record string `json:"record"`
	Trail  string `json:"trail"`
	// Base is the fingerprint of the previously approved artifact, "" if there was none.
	Base         string `json:"base"`
	Target       string `json:"target"` // fingerprint
	ArtifactName string `json:"artifact_name"`
	Description  string `json:"description"`
	// Commits are the SHAs of the release's commits, as they were sent.
	Commits      []string `json:"commits"`
	OldestCommit string   `json:"oldest_commit,omitempty"`
	// Environment is the id of the environment that the release is for, "" for none.
	Environment string `json:"environment,omitempty"`
	// State is derived from Reviews, by Overall.
	State        State           `json:"state"`
	Reviews      []Review        `json:"reviews,omitempty"`
	UserData     json.RawMessage `json:"user_data,omitempty"`
	CreatedAt    float64         `json:"created_at"` // Unix seconds
	ReportedBy   string          `json:"reported_by"`
	ReportedByID string          `json:"reported_by_id"`
}

// Review is one person's review of the release. It was recorded with the approval.
type Review struct {
	State      State  `json:"state"`
	Comment    string `json:"comment,omitempty"`
	ApprovedBy string `json:"approved_by,omitempty"`
	URL        string `json:"url,omitempty"`
}

// Overall is the state of an approval with these reviews. The last one decides.
func Overall(reviews []Review) State {
	switch {
	case len(reviews) == 0:
		return Pending
	case reviews[len(reviews)-1].State == Unapproved:
		return Unapproved
	default:
		return Approved
	}
}

// Follow sets number, base and time by the flow's last approval and the last one in state Approved, each zero if none.
func (a *Approval) Follow(last, approved *Approval) {
	a.Number = last.Number + 1
	a.Base = approved.Target
	a.CreatedAt = evidence.TimeAfter(last.CreatedAt, a.CreatedAt)
}

// Key is unique among the approvals of all flows.
func (a *Approval) Key() string { return Key(a.Flow, a.Number) }

// Key returns the key of the approval with a release number in a flow.
func Key(flow string, number int) string { return flow + "/" + strconv.Itoa(number) }

// TrailKey is the key of the trail that the artifact was reported to.
func (a *Approval) TrailKey() string { return evidence.TrailKey(a.Flow, a.Trail) }

// Event is the event of the approval in the artifact's trail. Its id is the approval's key.
func (a *Approval) Event() evidence.TrailEvent {
	data := &evidence.ApprovalData{
		Fingerprint: a.Target, Approval: a.ID, Number: a.Number, Environment: a.Environment, State: string(a.State),
	}
	if len(a.Reviews) > 0 {
		data.Reviewer = a.Reviews[len(a.Reviews)-1].ApprovedBy
	}
	return evidence.TrailEvent{
		ID: a.Key(), Org: a.Org, Flow: a.Flow, Trail: a.TrailKey(), Time: a.CreatedAt, Type: evidence.ArtifactApproval, Data: data,
	}
}
