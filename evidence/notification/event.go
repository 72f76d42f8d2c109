package notification

import (
	"strconv"

	"attestry/evidence"
	"attestry/evidence/admission"
	"attestry/evidence/job"
)

// Event is an event that actions may fire on. It is stored with its cause. One pointer is set.
type Event struct {
	// ID is derived from the cause, so that an event which is stored again has the same id.
	ID  string `json:"id"`
	Org string `json:"org"` // id
	// At is when it happened, in Unix seconds.
	At float64 `json:"at"`
	// Actions are the numbers of the actions whose deliveries were not made yet.
	Actions []int64 `json:"actions"`
	// Trace is the reference to the trace that it belongs to.
	Trace string `json:"trace,omitempty"`
	// Status counts failed attempts. Without a failure, the event is due since it happened.
	job.Status

	Snapshot *SnapshotMade        `json:"snapshot,omitempty"`
	Scaled   *ArtifactsScaled     `json:"scaled,omitempty"`
	Allowed  *evidence.Allowance  `json:"allowed,omitempty"`
	Admitted *admission.Record    `json:"admitted,omitempty"`
	Trail    *evidence.TrailEvent `json:"trail,omitempty"`
	Expiring *ExpiringKey         `json:"expiring,omitempty"`

	// Subject is the id of the environment, flow or organization, and Triggers are those that may fire. Both are empty in events that
	// earlier versions have stored.
	Subject  string    `json:"subject,omitempty"`
	Triggers []Trigger `json:"triggers,omitempty"`
}

// DueAt is when the event is due, in Unix seconds.
func (e *Event) DueAt() float64 { return max(e.At, e.Due) }

// Refs are the jobs of the event, one for each of its actions.
func (e *Event) Refs() []job.Ref {
	var refs []job.Ref
	for _, action := range e.Actions {
		refs = append(refs, job.Ref{
			Kind: &job.Fanout, Key: e.ID + "/" + strconv.FormatInt(action, 10),
			Payload: job.Payload{Event: e.ID, Action: action, Trace: e.Trace}, Due: e.DueAt(),
		})
	}
	return refs
}

// Job describes the event's job for operators.
func (e *Event) Job() job.Entry {
	status := e.Status
	status.Due = e.DueAt()
	return status.Entry(&job.Fanout, e.Org, e.ID)
}

// FailAttempt records a failed attempt at a time in Unix seconds. jitter, in [0, 1), shifts the next; false if none.
func (e *Event) FailAttempt(at, jitter float64, reason string) (again bool) {
	e.Tried++
	return e.Fail(&job.Fanout, e.At, at, 0, jitter, reason)
}

// SnapshotMade is a new snapshot of an environment.
type SnapshotMade struct {
	Environment string `json:"environment"` // id
	Number      int64  `json:"number"`
}

// ArtifactsScaled are artifacts whose numbers of instances a report has changed.
type ArtifactsScaled struct {
	Environment string `json:"environment"` // id
	// Snapshot is the number of the environment's snapshot at that time.
	Snapshot  int64    `json:"snapshot"`
	Artifacts []Scaled `json:"artifacts"`
}

// Scaled is an artifact whose number of instances has changed.
type Scaled struct {
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"`
	Was         int    `json:"was"`
	Now         int    `json:"now"`
}

// SnapshotEvent is the event of a snapshot of an environment, by its id.
func SnapshotEvent(org, environment string, number int64, at float64) Event {
	return Event{
		ID: environment + "/snapshot/" + strconv.FormatInt(number, 10), Org: org, At: at,
		Snapshot: &SnapshotMade{Environment: environment, Number: number},
		Subject:  environment, Triggers: []Trigger{StartedArtifact, ExitedArtifact, NonCompliantEnv, CompliantEnv},
	}
}

// ScaledEvent is the event of changed numbers of instances in a report, by its id.
func ScaledEvent(org, report string, at float64, scaled ArtifactsScaled) Event {
	return Event{
		ID: scaled.Environment + "/report/" + report, Org: org, At: at, Scaled: &scaled,
		Subject: scaled.Environment, Triggers: []Trigger{ScaledArtifact},
	}
}

// AllowedEvent is the event of an artifact that was allowed in an environment, also repeatedly.
func AllowedEvent(allowed evidence.Allowance) Event {
	return Event{
		ID:  allowed.Environment + "/allowed/" + allowed.ID + "/" + strconv.FormatFloat(allowed.At, 'f', -1, 64),
		Org: allowed.Org, At: allowed.At, Allowed: &allowed,
		Subject: allowed.Environment, Triggers: []Trigger{AllowedArtifact},
	}
}

// BreakGlassEvent is the event of a workload that was admitted by break-glass.
func BreakGlassEvent(record admission.Record) Event {
	return Event{
		ID: record.Environment + "/admitted/" + record.ID, Org: record.Org, At: record.FirstAt, Admitted: &record,
		Subject: record.Environment, Triggers: []Trigger{BrokenGlass},
	}
}

// TrailEvent is the notification event of a trail's event. Only the first event of an attestation has triggers.
func TrailEvent(event *evidence.TrailEvent) Event {
	return Event{
		ID: event.Trail + "/event/" + event.ID, Org: event.Org, At: event.Time, Trail: event,
		Subject: event.Flow, Triggers: trailTriggers(event),
	}
}

func trailTriggers(event *evidence.TrailEvent) []Trigger {
	switch data := event.Data.(type) {
	case *evidence.TrailBeginData:
		if event.Type == evidence.TrailReported {
			return []Trigger{StartedTrail}
		}
	case *evidence.ArtifactReportData:
		return []Trigger{AttestedProvenance}
	case *evidence.AttestationReportData:
		if event.ID == data.Attestation {
			return []Trigger{ReportedAttest}
		}
	case *evidence.ApprovalData:
		return []Trigger{Approval}
	}
	return nil
}

// Fires reports whether an action may fire on it.
func (e *Event) Fires() bool { return len(e.Triggers) > 0 }
