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
	what := cmp.Or(happened(n), plain(n.Description), "Something happened")
	if subject := evidence.ShortenTo(plain(cmp.Or(n.Environment, n.Flow)), maxName); subject != "" {
		return subject + ": " + what
	}
	return what
}

// happened says in a few words what happened, "" for an event that it does not know.
func happened(n *notification.Notice) string {
	switch n.EventType {
	case notification.EventArtifactStarted:
		return artifactName(n) + " started running"
	case notification.EventArtifactExited:
		return artifactName(n) + " stopped running"
	case notification.EventArtifactScaled:
		return artifactName(n) + " was scaled"
	case notification.EventArtifactAllowed:
		return artifactName(n) + " was allowed"
	case notification.EventNonCompliant:
		return "no longer compliant"
	case notification.EventCompliant:
		return "compliant again"
	case notification.EventBreakGlass:
		return "something was admitted against the verdict"
	case notification.EventTrailStarted:
		return trailName(n) + " was started"
	case notification.EventArtifactReported:
		return artifactName(n) + " was reported"
	case notification.EventAttestation:
		return attestationReported(n.Attestation)
	case notification.EventApproval:
		return artifactName(n) + " " + approved(n.Approval)
	case notification.EventTest:
		return "Test of the action " + short(n.Action)
	}
	return ""
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
