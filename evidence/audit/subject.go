package audit

import (
	"slices"

	"attestry/evidence"
)

// checkSubject compares the subject in the manifest with the documents.
func (v *Verifier) checkSubject() {
	subject, status := v.manifest.Subject, v.manifest.Status
	if status != "" && !slices.Contains([]evidence.Status{evidence.Compliant, evidence.NonCompliant, evidence.Incomplete}, status) {
		v.report(ManifestPath, "its status is not known")
	}
	if (status != "") != (subject.Kind == OfTrail) {
		v.report(ManifestPath, "only the package of a trail has a status, and it must have one")
	}
	if v.manifest.CreatedAt != v.latest() { // no signature covers it
		v.report(ManifestPath, "its time is not that of the latest event of the trails")
	}
	if n := v.manifest.OmittedTrails; n < 0 || n > 0 && (subject.Kind != OfArtifact || len(v.trails) < MaxTrails) {
		v.report(ManifestPath, "it says that %d trails were omitted, but no package of this kind omits them", n)
	}
	for _, lost := range v.manifest.LostEvidence {
		if !isLossReason(lost.Reason) {
			v.report(ManifestPath, "the reason why evidence is lost is not known")
		}
	}
	want := Subject{Kind: subject.Kind, Organization: subject.Organization, Flow: subject.Flow}
	switch subject.Kind {
	case OfTrail:
		want.Trail = subject.Trail
	case OfArtifact:
		want.Fingerprint = subject.Fingerprint
		v.checkOnlyArtifact(subject.Fingerprint)
	case OfAttestation:
		want.Trail, want.Attestation = subject.Trail, subject.Attestation
		if !slices.ContainsFunc(v.attestations, func(a attestationFacts) bool { return a.entry.ID == subject.Attestation }) {
			v.report(AttestationPath(subject.Attestation), "it is missing, though the package is of it")
		}
	}
	if subject != want {
		v.report(ManifestPath, "its subject is of several kinds")
	}
	v.checkTrails(&subject)
}

// latest is the time of the latest event of the trails, in Unix seconds.
func (v *Verifier) latest() (latest float64) {
	for _, trail := range v.trails {
		latest = max(latest, trail.LastModifiedAt)
	}
	for i := range v.events {
		latest = max(latest, v.events[i].Time)
	}
	return latest
}

func (v *Verifier) checkOnlyArtifact(fingerprint string) {
	for i := range v.artifacts {
		if one := v.artifacts[i].Fingerprint; one != fingerprint {
			v.report(ArtifactPath(one), "the package is of another artifact")
		}
	}
	if !v.known[ArtifactPath(fingerprint)] {
		v.report(ArtifactPath(fingerprint), "it is missing, though the package is of it")
	}
}

func (v *Verifier) checkTrails(subject *Subject) {
	if n := len(v.trails); n == 0 || n > MaxTrails || n > 1 && subject.Kind != OfArtifact {
		v.report(ManifestPath, "the package has %d trails", n)
	}
	known := map[string]bool{} // by key
	for _, id := range v.trailIDs() {
		trail := v.trails[id]
		path := TrailOf(id)
		if subject.Kind == OfTrail {
			path = TrailPath
		}
		if trail.Organization != subject.Organization || trail.Flow.Name != subject.Flow || subject.Trail != "" && trail.Name != subject.Trail {
			v.report(path, "it is not the trail that the manifest names")
		}
		key := evidence.TrailKey(trail.Flow.ID, trail.Name)
		if known[key] {
			v.report(path, "there is another trail of this name")
		}
		known[key] = true
		if (trail.Compliance != nil) != (subject.Kind == OfTrail) {
			v.report(path, "only the package of a trail has the trail's verdict, and it must have it")
		}
	}
	v.checkReports(known)
}

// checkReports reports attestations and artifacts whose trail is not in the package. trails has the keys of its trails.
func (v *Verifier) checkReports(trails map[string]bool) {
	for i := range v.attestations {
		if one := &v.attestations[i]; !trails[evidence.TrailKey(one.flow, one.trail)] {
			v.report(AttestationPath(one.entry.ID), "the package does not have its trail")
		}
	}
	for i := range v.artifacts {
		for _, record := range v.artifacts[i].Reports {
			if !trails[evidence.TrailKey(record.Flow, record.Trail)] {
				v.report(ArtifactPath(record.Fingerprint), "the package does not have the trail of report %s", record.ID)
			}
		}
	}
}
