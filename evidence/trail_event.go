package evidence

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

// The types of a trail's events (docs/semantics.md 4.4).
const (
	TrailReported               = "trail_reported"
	TrailUpdated                = "trail_updated"
	TrailAttestation            = "trail_attestation_reported"
	TrailAttestationForArtifact = "trail_attestation_for_artifact_reported"
	ArtifactCreation            = "artifact_creation_reported"
	ArtifactAttestation         = "artifact_attestation_reported"
	ArtifactStartedRunning      = "artifact_started_running"
	ArtifactStoppedRunning      = "artifact_stopped_running"
	ArtifactApproval            = "artifact_approval_reported"
)

// TrailEvent is something that happened to a trail. It is never changed (docs/semantics.md 4.4).
type TrailEvent struct {
	// ID is unique in the trail. It follows from what happened, so that the event can be stored twice.
	ID    string  `json:"id"`
	Org   string  `json:"org"`
	Flow  string  `json:"flow"`  // id
	Trail string  `json:"trail"` // key
	Time  float64 `json:"time"`
	Type  string  `json:"type"`
	// Commit and Repo are as reported.
	Commit *GitCommit `json:"commit,omitempty"`
	Repo   *Repo      `json:"repo,omitempty"`
	// Data is what only events of this type have: a *TrailBeginData, *ArtifactReportData, *AttestationReportData,
	// *ArtifactRunData or *ApprovalData; nil if there is nothing.
	Data any `json:"data,omitempty"`
}

// TrailBeginData belongs to TrailReported and TrailUpdated.
type TrailBeginData struct {
	// SettingUserID is the id of the user who began or changed the trail.
	SettingUserID string      `json:"setting_user_id"`
	Trail         TrailValues `json:"trail_data_json"`
	// Changes are the names that Trail.Apply returned.
	Changes []string `json:"changes,omitempty"`
}

// TrailValues are a trail's values after a begin or change. Org to CreatingUserID and RepoIDs are of begins alone.
type TrailValues struct {
	Org            string                 `json:"org_id,omitempty"`
	Flow           string                 `json:"flow_id,omitempty"`
	Name           string                 `json:"name,omitempty"`
	CreatingUserID string                 `json:"creating_user_id,omitempty"`
	Description    string                 `json:"description"`
	Commit         *GitCommit             `json:"git_commit_info"`
	Template       string                 `json:"template_id"`
	OriginURL      *string                `json:"origin_url"`
	UserData       string                 `json:"user_data"` // JSON
	RepoIDs        []string               `json:"repo_ids,omitempty"`
	ExternalURLs   map[string]ExternalURL `json:"external_urls,omitempty"`
}

// ArtifactReportData belongs to ArtifactCreation.
type ArtifactReportData struct {
	Fingerprint string `json:"artifact_fingerprint"`
	Filename    string `json:"artifact_name"`
	Record      string `json:"artifact_id"`
	Name        string `json:"template_reference_name"`
	// CommitSHA is NoCommit when the commit is unknown; "" in events of the first version.
	CommitSHA string `json:"git_commit"`
}

// AttestationReportData belongs to TrailAttestation, TrailAttestationForArtifact and ArtifactAttestation.
type AttestationReportData struct {
	Type        string `json:"attestation_type"`
	Compliant   bool   `json:"is_compliant"`
	Attestation string `json:"attestation_id"`
	Name        string `json:"template_reference_name"`
	// Finding is that of the attestation.
	Finding string `json:"finding,omitempty"`
	// Fingerprint and Filename are set of an artifact that was attested by fingerprint.
	Fingerprint string `json:"artifact_fingerprint,omitempty"`
	Filename    string `json:"artifact_name,omitempty"`
	// Target is the name of the artifact that was attested, "" of a trail.
	Target string `json:"target_artifact,omitempty"`
	// Reattestation is not known of any attestation: always nil.
	Reattestation *bool `json:"is_reattestation"`
}

// ArtifactRunData belongs to ArtifactStartedRunning and ArtifactStoppedRunning.
type ArtifactRunData struct {
	Fingerprint     string `json:"artifact_fingerprint"`
	Environment     string `json:"environment_id"`
	EnvironmentName string `json:"environment_name"`
	Snapshot        int64  `json:"snapshot_index"`
	// Instances is how many started; nil with ArtifactStoppedRunning.
	Instances *int   `json:"replica_number,omitempty"`
	Name      string `json:"template_reference_name"`
}

// ApprovalData belongs to ArtifactApproval.
type ApprovalData struct {
	Fingerprint string `json:"artifact_fingerprint"`
	Approval    string `json:"approval_id"`
	Number      int    `json:"approval_number"`
	// Environment is the id of the environment that the release is for, "" for none.
	Environment string `json:"environment_id,omitempty"`
	State       string `json:"state"`
	// Reviewer is who made the last review, "" while there is none.
	Reviewer string `json:"reviewer,omitempty"`
}

// UnmarshalJSON reads a stored event, whose type names the type of its data. Data of unknown types are left out.
func (e *TrailEvent) UnmarshalJSON(text []byte) error {
	type event TrailEvent // has no UnmarshalJSON
	var stored struct {
		event
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		return err
	}
	*e = TrailEvent(stored.event)
	switch e.Type {
	case TrailReported, TrailUpdated:
		e.Data = new(TrailBeginData)
	case ArtifactCreation:
		e.Data = new(ArtifactReportData)
	case TrailAttestation, TrailAttestationForArtifact, ArtifactAttestation:
		e.Data = new(AttestationReportData)
	case ArtifactStartedRunning, ArtifactStoppedRunning:
		e.Data = new(ArtifactRunData)
	case ArtifactApproval:
		e.Data = new(ApprovalData)
	}
	if stored.Data == nil || e.Data == nil {
		e.Data = nil
		return nil
	}
	return json.Unmarshal(stored.Data, e.Data)
}

// beginEventID is that of the event with which a trail begins. It comes before all
// other ids, as what began the trail happened at the same time.
const beginEventID = "0"

// BeginEvent tells that the trail was begun. repo is what was reported of its repository, or nil, here and below.
func (t *Trail) BeginEvent(repo *Repo) TrailEvent {
	values := t.values()
	values.Org, values.Flow, values.Name, values.CreatingUserID = t.Org, t.Flow, t.Name, t.CreatedByID
	values.RepoIDs = t.RepoIDs
	return t.event(beginEventID, TrailReported, t.CreatedAt, t.Commit, repo, &TrailBeginData{SettingUserID: t.CreatedByID, Trail: values})
}

// ChangeEvent tells that a user changed the trail at a time in Unix seconds. changes are what Apply returned.
func (t *Trail) ChangeEvent(id, userID string, at float64, changes []string, repo *Repo) TrailEvent {
	return t.event(id, TrailUpdated, at, t.Commit, repo, &TrailBeginData{SettingUserID: userID, Trail: t.values(), Changes: changes})
}

// values are those that begins and changes have in common.
func (t *Trail) values() TrailValues {
	return TrailValues{
		Description: t.Description, Commit: t.Commit, Template: t.Template,
		OriginURL: t.OriginURL, UserData: cmp.Or(string(t.UserData), "{}"), ExternalURLs: t.ExternalURLs,
	}
}

// ArtifactEvent tells that an artifact was reported to the trail. It has the record's id.
func (t *Trail) ArtifactEvent(record *ArtifactRecord, repo *Repo) TrailEvent {
	return t.event(record.ID, ArtifactCreation, record.CreatedAt, record.Commit, repo, &ArtifactReportData{
		Fingerprint: record.Fingerprint, Filename: record.Filename, Record: record.ID,
		Name: record.Name, CommitSHA: ShownSHA(record.CommitSHA),
	})
}

// AttestationEvents tell that the trail, or artifacts of it, were attested: one event for
// each artifact that was attested by name, else one (docs/semantics.md 4.4). The first
// has the attestation's own id, by which one can find whether they are stored.
func (t *Trail) AttestationEvents(a *Attestation, repo *Repo) []TrailEvent {
	event := func(id, kind, filename, target string) TrailEvent {
		return t.event(id, kind, a.CreatedAt, a.Commit, repo, &AttestationReportData{
			Type: a.Type, Compliant: a.Compliant, Attestation: a.ID, Name: a.Name, Finding: a.Finding,
			Fingerprint: a.Fingerprint, Filename: filename, Target: target,
		})
	}
	switch {
	case a.OfTrail():
		return []TrailEvent{event(a.ID, TrailAttestation, a.ArtifactName, "")}
	case a.Fingerprint != "":
		target := append(slices.Concat(t.NamesOf(a.Fingerprint), a.Targets), "")[0]
		return []TrailEvent{event(a.ID, ArtifactAttestation, a.ArtifactName, target)}
	}
	var events []TrailEvent
	for i, target := range a.Targets {
		id := a.ID
		if i > 0 {
			id += "-" + strconv.Itoa(i)
		}
		events = append(events, event(id, TrailAttestationForArtifact, "", target))
	}
	return events
}

func (t *Trail) event(id, kind string, at float64, commit *GitCommit, repo *Repo, data any) TrailEvent {
	return TrailEvent{
		ID: id, Org: t.Org, Flow: t.Flow, Trail: t.Key(), Time: at, Type: kind,
		Commit: commit, Repo: repo, Data: data,
	}
}
