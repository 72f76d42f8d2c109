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

// TrailEvent is an event of a trail. It is immutable (docs/semantics.md 4.4).
type TrailEvent struct {
	// ID is unique in the trail. It is derived from the cause, so that an event which is stored again has the same id.
	ID    string  `json:"id"`
	Org   string  `json:"org"`
	Flow  string  `json:"flow"`  // id
	Trail string  `json:"trail"` // key
	Time  float64 `json:"time"`
	Type  string  `json:"type"`
	// Commit and Repo are as reported.
	Commit *GitCommit `json:"commit,omitempty"`
	Repo   *Repo      `json:"repo,omitempty"`
	// Data is specific to the type: a *TrailBeginData, *ArtifactReportData, *AttestationReportData, *ArtifactRunData,
	// *ApprovalData or nil.
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

// TrailValues are a trail's values after a begin or change. Only begins have Org to CreatingUserID and RepoIDs.
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
	RepoIDs        []string               `json:"repo_ids,omitzero"`
	ExternalURLs   map[string]ExternalURL `json:"external_urls,omitempty"`
}

// ArtifactReportData belongs to ArtifactCreation.
type ArtifactReportData struct {
	Fingerprint string `json:"artifact_fingerprint"`
	Filename    string `json:"artifact_name"`
	Record      string `json:"artifact_id"`
	Name        string `json:"template_reference_name"`
	// CommitSHA is NoCommit if the commit is unknown; "" in events of the first version.
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
	// Fingerprint and Filename are set if the artifact was attested by fingerprint.
	Fingerprint string `json:"artifact_fingerprint,omitempty"`
	Filename    string `json:"artifact_name,omitempty"`
	// Target is the name of the attested artifact, "" for a trail.
	Target string `json:"target_artifact,omitempty"`
	// Reattestation is always nil.
	Reattestation *bool `json:"is_reattestation"`
}

// ArtifactRunData belongs to ArtifactStartedRunning and ArtifactStoppedRunning.
type ArtifactRunData struct {
	Fingerprint     string `json:"artifact_fingerprint"`
	Environment     string `json:"environment_id"`
	EnvironmentName string `json:"environment_name"`
	Snapshot        int64  `json:"snapshot_index"`
	// Instances is the number of started instances; nil with ArtifactStoppedRunning.
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
	// Reviewer made the last review; "" if there is none.
	Reviewer string `json:"reviewer,omitempty"`
}

// UnmarshalJSON reads a stored event. The event's type determines the type of its data; unknown data are dropped.
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

// beginEventID is the id of a trail's first event. It sorts before all other ids, as the report that began the trail
// has an event of the same time.
const beginEventID = "0"

// BeginEvent is the event of the trail's begin. Here and below, repo is the reported repository, or nil.
func (t *Trail) BeginEvent(repo *Repo) TrailEvent {
	values := t.values()
	values.Org, values.Flow, values.Name, values.CreatingUserID = t.Org, t.Flow, t.Name, t.CreatedByID
	values.RepoIDs = append([]string{}, t.RepoIDs...) // shown also if it is empty
	return t.event(beginEventID, TrailReported, t.CreatedAt, t.Commit, repo, &TrailBeginData{SettingUserID: t.CreatedByID, Trail: values})
}

// ChangeEvent is the event of a change by a user at a time in Unix seconds. changes is the result of Apply.
func (t *Trail) ChangeEvent(id, userID string, at float64, changes []string, repo *Repo) TrailEvent {
	return t.event(id, TrailUpdated, at, t.Commit, repo, &TrailBeginData{SettingUserID: userID, Trail: t.values(), Changes: changes})
}

// values are those that both begins and changes have.
func (t *Trail) values() TrailValues {
	return TrailValues{
		Description: t.Description, Commit: t.Commit, Template: t.Template,
		OriginURL: t.OriginURL, UserData: cmp.Or(string(t.UserData), "{}"), ExternalURLs: t.ExternalURLs,
	}
}

// ArtifactEvent is the event of an artifact that was reported to the trail. It has the record's id.
func (t *Trail) ArtifactEvent(record *ArtifactRecord, repo *Repo) TrailEvent {
	return t.event(record.ID, ArtifactCreation, record.CreatedAt, record.Commit, repo, &ArtifactReportData{
		Fingerprint: record.Fingerprint, Filename: record.Filename, Record: record.ID,
		Name: record.Name, CommitSHA: ShownSHA(record.CommitSHA),
	})
}

// AttestationEvents are the events of an attestation: one per artifact that was attested by name, else one
// (docs/semantics.md 4.4). The first has the attestation's id, by which one can check whether they are stored.
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
