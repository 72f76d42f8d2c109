package pdf

import (
	"fmt"
	"strings"

	"attestry/evidence"
)

// EventText describes an event of a trail.
func EventText(e *evidence.TrailEvent) string { return shorten(wordEvent(e), maxDescription) }

func wordEvent(e *evidence.TrailEvent) string {
	switch data := e.Data.(type) {
	case *evidence.TrailBeginData:
		if e.Type == evidence.TrailReported {
			return "The trail was begun."
		}
		return "The trail was changed" + labelled(":", strings.Join(data.Changes, ", ")) + "."
	case *evidence.ArtifactReportData:
		return fmt.Sprintf("Artifact '%s' was reported: %s, fingerprint %s.", data.Name, data.Filename, data.Fingerprint)
	case *evidence.AttestationReportData:
		return fmt.Sprintf("Attestation '%s' of type %s was reported for %s: %s.", data.Name, data.Type, attested(data), evidence.StatusOf(data.Compliant))
	case *evidence.ArtifactRunData:
		return wordRun(e.Type, data)
	case *evidence.ApprovalData:
		return fmt.Sprintf("Approval %d of artifact %s was recorded: %s%s.",
			data.Number, data.Fingerprint, data.State, labelled(" by", data.Reviewer))
	}
	return e.Type
}

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

var eventColumns = []column{{"Time", 44}, {"Event", bodyWidth - 44}}

func (r *report) timeline() {
	r.section("Events")
	shown, more := lastOf(r.Events, maxEvents)
	list(&r.layout, eventColumns, shown, maxEvents, "event", "No event was recorded.", func(event evidence.TrailEvent) []cell {
		return []cell{{{text: moment(event.Time), style: body}}, {{text: EventText(&event), style: body}}}
	})
	r.omitted(more, "event")
}
