package recording

import (
	"encoding/json"
	"strconv"

	"attestry/evidence"
)

// The members that events of each type have, in the words of the contract
// (docs/semantics.md 4.4).
type (
	begunData struct {
		SettingUserID string        `json:"setting_user_id"`
		Trail         trailDataJSON `json:"trail_data_json"`
		Changes       []string      `json:"changes,omitempty"`
	}
	trailDataJSON struct {
		Org            string                 `json:"org_id,omitempty"`
		Flow           string                 `json:"flow_id,omitempty"`
		Name           string                 `json:"name,omitempty"`
		CreatingUserID string                 `json:"creating_user_id,omitempty"`
		Description    string                 `json:"description"`
		Commit         *evidence.GitCommit    `json:"git_commit_info"`
		TemplateID     string                 `json:"template_id"`
		OriginURL      *string                `json:"origin_url"`
		UserData       string                 `json:"user_data"`
		RepoIDs        []string               `json:"repo_ids,omitempty"`
		ExternalURLs   map[string]externalURL `json:"external_urls,omitempty"`
	}
	externalURL = evidence.ExternalURL

	artifactData struct {
		Fingerprint   string `json:"artifact_fingerprint"`
		ArtifactName  string `json:"artifact_name"`
		ArtifactID    string `json:"artifact_id"`
		ReferenceName string `json:"template_reference_name"`
		GitCommit     string `json:"git_commit"`
	}
	attestationData struct {
		Type            string `json:"attestation_type"`
		Compliant       bool   `json:"is_compliant"`
		ID              string `json:"attestation_id"`
		ReferenceName   string `json:"template_reference_name"`
		Fingerprint     string `json:"artifact_fingerprint,omitempty"`
		ArtifactName    string `json:"artifact_name,omitempty"`
		Target          string `json:"target_artifact,omitempty"`
		IsReattestation *bool  `json:"is_reattestation"`
	}
)

// begunEventID is that of the event with which a trail begins. It comes before all
// other ids, as what began the trail happened at the same time.
const begunEventID = "0"

func begunEvent(trail *evidence.Trail, scope Scope, repo *evidence.Repo) evidence.TrailEvent {
	data := trailData(trail)
	data.Org, data.Flow, data.Name, data.CreatingUserID = trail.Org, trail.Flow, trail.Name, trail.CreatedByID
	data.RepoIDs = trail.RepoIDs
	return trailEvent(trail, begunEventID, evidence.TrailReported, scope.At, trail.Commit, repo,
		begunData{SettingUserID: scope.ByID, Trail: data})
}

func changedEvent(trail *evidence.Trail, id string, scope Scope, repo *evidence.Repo, changes []string) evidence.TrailEvent {
	return trailEvent(trail, id, evidence.TrailUpdated, scope.At, trail.Commit, repo,
		begunData{SettingUserID: scope.ByID, Trail: trailData(trail), Changes: changes})
}

// trailData is a trail as its events keep it; the user's data is text there.
func trailData(trail *evidence.Trail) trailDataJSON {
	userData := string(trail.UserData)
	if userData == "" {
		userData = "{}"
	}
	return trailDataJSON{
		Description: trail.Description, Commit: trail.Commit, TemplateID: trail.Template,
		OriginURL: trail.OriginURL, UserData: userData, ExternalURLs: trail.ExternalURLs,
	}
}

func artifactEvent(trail *evidence.Trail, record *evidence.ArtifactRecord, repo *evidence.Repo) evidence.TrailEvent {
	return trailEvent(trail, record.ID, evidence.ArtifactCreation, record.CreatedAt, record.Commit, repo, artifactData{
		Fingerprint: record.Fingerprint, ArtifactName: record.Filename, ArtifactID: record.ID,
		ReferenceName: record.Name, GitCommit: evidence.ShownSHA(record.CommitSHA),
	})
}

// attestationEvents are one for each artifact that was attested by name, else one.
// The first has the attestation's own id, by which it is told whether they are
// stored.
func attestationEvents(trail *evidence.Trail, a *evidence.Attestation, repo *evidence.Repo) []evidence.TrailEvent {
	data := attestationData{
		Type: a.Type, Compliant: a.Compliant, ID: a.ID, ReferenceName: a.Name,
		Fingerprint: a.Fingerprint, ArtifactName: a.ArtifactName,
	}
	event := func(id, kind string) evidence.TrailEvent {
		return trailEvent(trail, id, kind, a.CreatedAt, a.Commit, repo, data)
	}
	switch {
	case a.OfTrail():
		return []evidence.TrailEvent{event(a.ID, evidence.TrailAttestation)}
	case a.Fingerprint != "":
		data.Target = targetOf(trail, a)
		return []evidence.TrailEvent{event(a.ID, evidence.ArtifactAttestation)}
	}
	data.ArtifactName = ""
	var events []evidence.TrailEvent
	for i, target := range a.Targets {
		data.Target = target
		id := a.ID
		if i > 0 {
			id += "-" + strconv.Itoa(i)
		}
		events = append(events, event(id, evidence.TrailAttestationForArtifact))
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

func trailEvent(trail *evidence.Trail, id, kind string, at float64, commit *evidence.GitCommit, repo *evidence.Repo, data any) evidence.TrailEvent {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err) // plain structs of texts and numbers
	}
	return evidence.TrailEvent{
		ID: id, Org: trail.Org, Flow: trail.Flow, Trail: trail.Key(), Time: at, Type: kind,
		Commit: commit, Repo: repo, Data: raw,
	}
}
