package notify

import (
	"cmp"

	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/notification"
)

// maxName bounds a name in a title, in characters, so that the text after it is visible.
const maxName = 80

// title names the environment or flow of an event, and summarizes the event.
func title(n *notification.Notice) string {
	event := cmp.Or(plain(n.Description), "Something happened")
	if phrase, ok := eventPhrases[n.EventType]; ok {
		event = phrase(n)
	}
	if subject := shortName(cmp.Or(n.Environment, n.Flow)); subject != "" {
		return subject + ": " + event
	}
	return event
}

// eventPhrases summarize events in a few words, by type.
var eventPhrases = map[string]func(n *notification.Notice) string{
	notification.EventArtifactStarted:  func(n *notification.Notice) string { return artifactName(n) + " started running" },
	notification.EventArtifactExited:   func(n *notification.Notice) string { return artifactName(n) + " stopped running" },
	notification.EventArtifactScaled:   func(n *notification.Notice) string { return artifactName(n) + " was scaled" },
	notification.EventArtifactAllowed:  func(n *notification.Notice) string { return artifactName(n) + " was allowed" },
	notification.EventNonCompliant:     func(*notification.Notice) string { return "no longer compliant" },
	notification.EventCompliant:        func(*notification.Notice) string { return "compliant again" },
	notification.EventBreakGlass:       func(*notification.Notice) string { return "something was admitted against the verdict" },
	notification.EventTrailStarted:     func(n *notification.Notice) string { return trailName(n) + " was started" },
	notification.EventArtifactReported: func(n *notification.Notice) string { return artifactName(n) + " was reported" },
	notification.EventAttestation:      func(n *notification.Notice) string { return attestationReported(n.Attestation) },
	notification.EventApproval:         func(n *notification.Notice) string { return artifactName(n) + " " + approvalPhrase(n.Approval) },
	notification.EventKeyExpires:       func(*notification.Notice) string { return "an API key expires soon" },
	notification.EventTest:             func(n *notification.Notice) string { return "Test of the action " + shortName(n.Action) },
}

// artifactName returns the artifact's name. A notice without an artifact is about several.
func artifactName(n *notification.Notice) string {
	if n.Artifact == nil {
		return "several artifacts"
	}
	return cmp.Or(shortName(n.Artifact.Name), "an artifact")
}

func trailName(n *notification.Notice) string {
	if n.Trail == nil {
		return "a trail"
	}
	return "trail " + shortName(n.Trail.Name)
}

func attestationReported(a *notification.NoticeAttestation) string {
	if a == nil {
		return "an attestation was reported"
	}
	return withStatus("attestation "+shortName(a.Name)+" was reported", plain(a.Status))
}

func approvalPhrase(a *notification.NoticeApproval) string {
	switch {
	case a == nil:
		return "has an approval"
	case a.State == string(approval.Approved):
		return "was approved"
	case a.State == string(approval.Unapproved):
		return "was refused approval"
	}
	return "awaits approval"
}

func shortName(name string) string { return evidence.ShortenTo(plain(name), maxName) }
