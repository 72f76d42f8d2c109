package admission

import (
	"fmt"
	"slices"
	"strings"

	"attestry/evidence"
)

// Finding is what is known of one image of a workload.
type Finding struct {
	Image Image
	// Valid tells that the reference is one.
	Valid bool
	// Known tells that a flow knows the artifact, Allowed that the environment's allow list has it.
	Known, Allowed bool
	// Compliant is the verdict of the environment on the artifact.
	Compliant bool
	// Reasons say in sentences what fails, each with what would make it right.
	Reasons []string
}

// Refusal is an image that is not admitted, or only with a warning.
type Refusal struct {
	Image       string `json:"image"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Reason      string `json:"reason"`
	// Denied tells that the image is not admitted where the mode is deny.
	Denied bool `json:"denied"`
}

// Outcome is what a decision came to.
type Outcome string

// The outcomes. BreakGlass is of a workload that is admitted for the reason that it gives.
const (
	Admitted   Outcome = "admitted"
	Warned     Outcome = "warned"
	Denied     Outcome = "denied"
	BreakGlass Outcome = "break_glass"
)

// Decision is the answer to a cluster.
type Decision struct {
	Outcome  Outcome
	Refusals []Refusal
	// Reason is that of BreakGlass.
	Reason string
}

// Allowed reports whether the workload may run.
func (d *Decision) Allowed() bool { return d.Outcome != Denied }

// Judged reports whether a workload is judged at all.
func Judged(settings *evidence.AdmissionSettings, workload *Workload) bool {
	return settings.Mode != evidence.AdmissionOff && len(workload.Images) > 0 &&
		!slices.Contains(settings.ExemptNamespaces, workload.Namespace)
}

// Decide decides on a workload that is judged, by what is known of its images.
func Decide(settings *evidence.AdmissionSettings, workload *Workload, findings []Finding) Decision {
	decision := Decision{Outcome: Admitted}
	for i := range findings {
		reason, rule := refuse(settings, &findings[i])
		if rule == evidence.RuleAdmit {
			continue
		}
		refusal := Refusal{
			Image: findings[i].Image.Reference, Fingerprint: findings[i].Image.Fingerprint, Reason: reason, Denied: rule == evidence.RuleDeny,
		}
		decision.Refusals = append(decision.Refusals, refusal)
		if refusal.Denied && settings.Mode == evidence.AdmissionDeny {
			decision.Outcome = Denied
		} else if decision.Outcome == Admitted {
			decision.Outcome = Warned
		}
	}
	if reason := workload.Reason(settings.BreakGlass); reason != "" && decision.Outcome != Admitted {
		decision.Outcome, decision.Reason = BreakGlass, reason
	}
	return decision
}

// refuse says why an image is not admitted, and whether it is denied or warned of; RuleAdmit if it is admitted.
func refuse(settings *evidence.AdmissionSettings, found *Finding) (string, evidence.AdmissionRule) {
	switch {
	case !found.Valid:
		return "The reference is not one of an image with a SHA-256 digest. Correct it.", evidence.RuleDeny
	case found.Image.Fingerprint == "" && settings.Tags == evidence.RuleResolve:
		return "No artifact was reported under this name and tag. Report it with its fingerprint, or name the image by its digest.", evidence.RuleDeny
	case found.Image.Fingerprint == "":
		return "The image has no digest, and a tag may point to another image tomorrow. Name it by its digest.", settings.Tags
	case found.Allowed:
		return "", evidence.RuleAdmit
	case !found.Known && settings.UnknownArtifacts != evidence.RulePolicies:
		return unknownReason, settings.UnknownArtifacts
	case found.Compliant:
		return "", evidence.RuleAdmit
	case len(found.Reasons) == 0:
		return unknownReason, evidence.RuleDeny
	}
	return strings.Join(found.Reasons, " "), evidence.RuleDeny
}

const unknownReason = "No flow knows the artifact. Report it to a flow before it is deployed."

const (
	// maxMessage is how long a message may be, in bytes, and maxWarning how long a warning, in characters.
	maxMessage = 2 << 10
	maxWarning = 256
	// maxWarnings is how many warnings there are at most: clusters show no more than 4 KiB.
	maxWarnings = 15
	// moreRoom is room for an ellipsis and to say how many more images there are, in bytes.
	moreRoom = 32
)

// Message says for the person at the terminal why a workload is denied, at most 2 KiB: which images, why, and where to
// read on.
func (d *Decision) Message(environment, page string) string {
	var lines []string
	for _, refusal := range d.Refusals {
		if refusal.Denied {
			lines = append(lines, "\n"+refusal.Image+": "+refusal.Reason)
		}
	}
	message := fmt.Sprintf("environment '%s' does not admit %s", environment, evidence.Count(len(lines), "image"))
	end := "\nSee " + page
	room := maxMessage - len(message) - len(end) - moreRoom
	for i, line := range lines {
		if i > 0 && len(line) > room {
			message += fmt.Sprintf("\n... and %s more", evidence.Count(len(lines)-i, "image"))
			break
		}
		line = evidence.Shorten(line, room)
		message, room = message+line, room-len(line)
	}
	return message + end
}

// Warnings say which images are not right, each in at most 256 characters.
func (d *Decision) Warnings() []string {
	var warnings []string
	for _, refusal := range d.Refusals[:min(len(d.Refusals), maxWarnings)] {
		warnings = append(warnings, evidence.ShortenTo(refusal.Image+": "+refusal.Reason, maxWarning))
	}
	return warnings
}
