package pdf

import (
	"fmt"
	"strings"

	"attestry/evidence"
)

// NewEvent words what happened to a trail.
func NewEvent(e *evidence.TrailEvent) Event {
	return Event{Time: e.Time, Text: shorten(wordEvent(e), maxDescription)}
}

func wordEvent(e *evidence.TrailEvent) string {
	switch data := e.Data.(type) {
	case *evidence.TrailBeginData:
		if e.Type == evidence.TrailReported {
			return "The trail was begun."
		}
		return "The trail was changed" + listed(": ", data.Changes) + "."
	case *evidence.ArtifactReportData:
		return fmt.Sprintf("Artifact '%s' was reported: %s, fingerprint %s.", data.Name, data.Filename, data.Fingerprint)
	case *evidence.AttestationReportData:
		return fmt.Sprintf("Attestation '%s' of type %s was reported for %s: %s.", data.Name, data.Type, attested(data), verdictOf(data.Compliant))
	case *evidence.ArtifactRunData:
		return wordRun(e.Type, data)
	case *evidence.ApprovalData:
		return wordApproval(data)
	}
	return e.Type
}

func listed(before string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	return before + strings.Join(items, ", ")
}

// attested names what an attestation is about.
func attested(data *evidence.AttestationReportData) string {
	switch {
	case data.Target != "":
		return fmt.Sprintf("artifact '%s'", data.Target)
	case data.Fingerprint != "":
		return "artifact " + data.Fingerprint
	default:
		return "the trail"
	}
}

func wordRun(kind string, data *evidence.ArtifactRunData) string {
	verb := "started"
	if kind == evidence.ArtifactStoppedRunning {
		verb = "stopped"
	}
	return fmt.Sprintf("Artifact '%s' %s running in environment '%s', snapshot %d: fingerprint %s.",
		data.Name, verb, data.EnvironmentName, data.Snapshot, data.Fingerprint)
}

func wordApproval(data *evidence.ApprovalData) string {
	by := ""
	if data.Reviewer != "" {
		by = " by " + data.Reviewer
	}
	return fmt.Sprintf("Approval %d of artifact %s was recorded: %s%s.", data.Number, data.Fingerprint, data.State, by)
}
