package recording

import (
	"strconv"

	"attestry/evidence"
)

// begunEventID is that of the event with which a trail begins. It comes before all
// other ids, as what began the trail happened at the same time.
const begunEventID = "0"

func begunEvent(trail *evidence.Trail, scope Scope, repo *evidence.Repo) evidence.TrailEvent {
	values := trailValues(trail)
	values.Org, values.Flow, values.Name, values.CreatingUserID = trail.Org, trail.Flow, trail.Name, trail.CreatedByID
	values.RepoIDs = trail.RepoIDs
	return trailEvent(trail, begunEventID, evidence.TrailReported, scope.At, trail.Commit, repo,
		&evidence.TrailBeginData{SettingUserID: scope.ByID, Trail: values})
}

func changedEvent(trail *evidence.Trail, id string, scope Scope, repo *evidence.Repo, changes []string) evidence.TrailEvent {
	return trailEvent(trail, id, evidence.TrailUpdated, scope.At, trail.Commit, repo,
		&evidence.TrailBeginData{SettingUserID: scope.ByID, Trail: trailValues(trail), Changes: changes})
}

// trailValues are what all events of a trail's begin and changes keep of it.
func trailValues(trail *evidence.Trail) evidence.TrailValues {
	userData := string(trail.UserData)
	if userData == "" {
		userData = "{}"
	}
	return evidence.TrailValues{
		Description: trail.Description, Commit: trail.Commit, Template: trail.Template,
		OriginURL: trail.OriginURL, UserData: userData, ExternalURLs: trail.ExternalURLs,
	}
}

func artifactEvent(trail *evidence.Trail, record *evidence.ArtifactRecord, repo *evidence.Repo) evidence.TrailEvent {
	return trailEvent(trail, record.ID, evidence.ArtifactCreation, record.CreatedAt, record.Commit, repo, &evidence.ArtifactReportData{
		Fingerprint: record.Fingerprint, Filename: record.Filename, Record: record.ID,
		Name: record.Name, CommitSHA: evidence.ShownSHA(record.CommitSHA),
	})
}

// attestationEvents are one for each artifact that was attested by name, else one.
// The first has the attestation's own id, by which it is told whether they are
// stored.
func attestationEvents(trail *evidence.Trail, a *evidence.Attestation, repo *evidence.Repo) []evidence.TrailEvent {
	event := func(id, kind, filename, target string) evidence.TrailEvent {
		return trailEvent(trail, id, kind, a.CreatedAt, a.Commit, repo, &evidence.AttestationReportData{
			Type: a.Type, Compliant: a.Compliant, Attestation: a.ID, Name: a.Name,
			Fingerprint: a.Fingerprint, Filename: filename, Target: target,
		})
	}
	switch {
	case a.OfTrail():
		return []evidence.TrailEvent{event(a.ID, evidence.TrailAttestation, a.ArtifactName, "")}
	case a.Fingerprint != "":
		return []evidence.TrailEvent{event(a.ID, evidence.ArtifactAttestation, a.ArtifactName, targetOf(trail, a))}
	}
	var events []evidence.TrailEvent
	for i, target := range a.Targets {
		id := a.ID
		if i > 0 {
			id += "-" + strconv.Itoa(i)
		}
		events = append(events, event(id, evidence.TrailAttestationForArtifact, "", target))
	}
	return events
}

// targetOf is the name of the artifact that was attested by fingerprint.
func targetOf(trail *evidence.Trail, a *evidence.Attestation) string {
	for _, name := range trail.SlotNames() {
		if trail.Slots[name].Fingerprint == a.Fingerprint {
			return name
		}
	}
	if len(a.Targets) > 0 {
		return a.Targets[0]
	}
	return ""
}

func trailEvent(trail *evidence.Trail, id, kind string, at float64, commit *evidence.GitCommit, repo *evidence.Repo, data evidence.TrailEventData) evidence.TrailEvent {
	return evidence.TrailEvent{
		ID: id, Org: trail.Org, Flow: trail.Flow, Trail: trail.Key(), Time: at, Type: kind,
		Commit: commit, Repo: repo, Data: data,
	}
}
