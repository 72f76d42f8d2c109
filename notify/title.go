package notify

import (
	"cmp"

	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/notification"
)

// maxName bounds a name in a title, in characters, so that what follows it is still seen.
const maxName = 80

// title says where something happened, and what.
func title(n *notification.Notice) string {
	what := cmp.Or(plain(n.Description), "Something happened")
	if happened, known := happenings[n.EventType]; known {
		what = happened(n)
	}
	if subject := evidence.ShortenTo(plain(cmp.Or(n.Environment, n.Flow)), maxName); subject != "" {
		return subject + ": " + what
	}
	return what
}

// happenings say in a few words what happened, by the type of the event.
var happenings = map[string]func(n *notification.Notice) string{
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
	notification.EventApproval:         func(n *notification.Notice) string { return artifactName(n) + " " + approved(n.Approval) },
	notification.EventTest:             func(n *notification.Notice) string { return "Test of the action " + short(n.Action) },
}

// artifactName names the artifact. A notice without one is about several.
func artifactName(n *notification.Notice) string {
	if n.Artifact == nil {
		return "several artifacts"
	}
	return cmp.Or(short(n.Artifact.Name), "an artifact")
}

func trailName(n *notification.Notice) string {
	if n.Trail == nil {
		return "a trail"
	}
	return "trail " + short(n.Trail.Name)
}

func attestationReported(a *notification.NoticeAttestation) string {
	if a == nil {
		return "an attestation was reported"
	}
	return withStatus("attestation "+short(a.Name)+" was reported", plain(a.Status))
}

// approved says what was decided, or that nothing is yet.
func approved(a *notification.NoticeApproval) string {
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

func short(name string) string { return evidence.ShortenTo(plain(name), maxName) }
