package admission

import (
	"fmt"
	"slices"
	"strings"

	"attestry/evidence"
)

// Finding is the evaluation of one image of a workload.
type Finding struct {
	Image Image
	// Valid is true if the reference is valid.
	Valid bool
	// Known is true if the artifact has provenance, Allowed if it is on the environment's allow list.
	Known, Allowed bool
	// Compliant is the verdict of the environment's policies on the artifact.
	Compliant bool
	// Reasons are sentences about failed rules, each with a remedy.
	Reasons []string
}

// Refusal is an image that is not admitted, or only with a warning.
type Refusal struct {
	Image       string `json:"image"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Reason      string `json:"reason"`
	// Denied is true if the image is not admitted in the mode deny.
	Denied bool `json:"denied"`
}

// Outcome is the outcome of a decision.
type Outcome string

// The outcomes. BreakGlass means that a workload was admitted despite refusals, for the reason that it gave.
const (
	Admitted   Outcome = "admitted"
	Warned     Outcome = "warned"
	Denied     Outcome = "denied"
	BreakGlass Outcome = "break_glass"
)

// Decision is the response to a cluster.
type Decision struct {
	Outcome  Outcome
	Refusals []Refusal
	// Reason is why the workload broke glass, "" for other outcomes.
	Reason string
}

// Allowed reports whether the workload may run.
func (d *Decision) Allowed() bool { return d.Outcome != Denied }

// Judged reports whether a workload has to be evaluated. An unknown namespace is never exempt: Gatekeeper sends none.
func Judged(settings *evidence.AdmissionSettings, workload *Workload) bool {
	exempt := workload.Namespace != "" && slices.Contains(settings.ExemptNamespaces, workload.Namespace)
	return settings.Mode != evidence.AdmissionOff && len(workload.Images) > 0 && !exempt
}

// Decide decides on a workload by the findings on its images.
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

// refuse returns why an image is not admitted, with RuleDeny or RuleWarn; RuleAdmit if it is admitted.
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
	// maxMessage bounds a message, in bytes, and maxWarning a warning, in characters.
	maxMessage = 2 << 10
	maxWarning = 256
	// maxWarnings bounds the warnings: clusters show at most 4 KiB.
	maxWarnings = 15
	// moreRoom is the room for an ellipsis and the number of further images, in bytes.
	moreRoom = 32
)

// Message is the message for the user of the cluster, at most 2 KiB: the denied images, why, and a link.
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

// Warnings are the warnings about refused images, each of at most 256 characters.
func (d *Decision) Warnings() []string {
	return evidence.Map(d.Refusals[:min(len(d.Refusals), maxWarnings)], func(refusal Refusal) string {
		return evidence.ShortenTo(refusal.Image+": "+refusal.Reason, maxWarning)
	})
}
