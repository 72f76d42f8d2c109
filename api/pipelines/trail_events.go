package pipelines

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/evidence"
)

// TrailEvent is an event of a trail (docs/semantics.md 4.4): the common members, then those of its type.
type TrailEvent struct {
	common trailEventCommon
	data   any // nil for none
}

// trailEventCommon holds the members that the events of all types have.
type trailEventCommon struct {
	OrgID         string              `json:"org_id"`
	FlowID        string              `json:"flow_id"`
	TrailID       string              `json:"trail_id"`
	Timestamp     float64             `json:"timestamp"`
	Type          string              `json:"type"`
	GitCommitInfo *evidence.GitCommit `json:"git_commit_info"`
	RepoInfo      *trailEventRepo     `json:"repo_info"`
}

type trailEventRepo struct {
	InnerID        string            `json:"inner_id"`
	OrgID          string            `json:"org_id"`
	RepoID         *string           `json:"repo_id"`
	Name           string            `json:"name"`
	URL            string            `json:"url"`
	Provider       *string           `json:"provider"`
	Description    *string           `json:"description"`
	VCSInstance    *string           `json:"vcs_instance"`
	NamespacePath  []string          `json:"namespace_path"`
	AdditionalInfo json.RawMessage   `json:"additional_info"`
	CreatedAt      float64           `json:"created_at"`
	LastModifiedAt float64           `json:"last_modified_at"`
	Tags           map[string]string `json:"tags"`
}

type approvalEvent struct {
	Fingerprint    string  `json:"artifact_fingerprint"`
	ApprovalID     string  `json:"approval_id"`
	ApprovalNumber int     `json:"approval_number"`
	EnvironmentID  *string `json:"environment_id"`
	State          string  `json:"state"`
	Reviewer       *string `json:"reviewer"`
}

// runEvent adds to the stored data of a run the name that its environment has now, "" if it is archived.
type runEvent struct {
	*evidence.ArtifactRunData
	CurrentName string `json:"current_environment_name,omitempty"`
}

// MarshalJSON joins the members to one object.
func (e TrailEvent) MarshalJSON() ([]byte, error) {
	members, err := json.Marshal(e.common)
	if err != nil || e.data == nil {
		return members, err
	}
	data, err := json.Marshal(e.data)
	if err != nil {
		return nil, err
	}
	members[len(members)-1] = ','
	return append(members, data[1:]...), nil
}

// Schema describes the members that all events have.
func (TrailEvent) Schema(huma.Registry) *huma.Schema {
	text, object := &huma.Schema{Type: huma.TypeString}, &huma.Schema{Type: huma.TypeObject, Nullable: true, AdditionalProperties: true}
	return &huma.Schema{
		Type: huma.TypeObject,
		Properties: map[string]*huma.Schema{
			"org_id": text, "flow_id": text, "trail_id": text, "type": text,
			"timestamp": {Type: huma.TypeNumber}, "git_commit_info": object, "repo_info": object,
		},
		Required:             []string{"org_id", "flow_id", "trail_id", "timestamp", "type", "git_commit_info", "repo_info"},
		AdditionalProperties: true,
	}
}

// showTrailEvent shows the data of an event as they are stored, except for approvals and runs. names are those of
// active environments, by id.
func showTrailEvent(trail *evidence.Trail, event *evidence.TrailEvent, names map[string]string) TrailEvent {
	shown := TrailEvent{data: event.Data, common: trailEventCommon{
		OrgID: event.Org, FlowID: event.Flow, TrailID: trail.ID, Timestamp: event.Time, Type: event.Type,
		GitCommitInfo: event.Commit, RepoInfo: showEventRepo(event.Repo),
	}}
	switch data := event.Data.(type) {
	case *evidence.ArtifactRunData:
		shown.data = runEvent{data, names[data.Environment]}
	case *evidence.ApprovalData:
		shown.data = approvalEvent{
			Fingerprint: data.Fingerprint, ApprovalID: data.Approval, ApprovalNumber: data.Number,
			EnvironmentID: resource.NilIfEmpty(data.Environment), State: data.State, Reviewer: resource.NilIfEmpty(data.Reviewer),
		}
	}
	return shown
}

func showEventRepo(repo *evidence.Repo) *trailEventRepo {
	if repo == nil {
		return nil
	}
	return &trailEventRepo{
		InnerID: repo.ID, OrgID: repo.Org, RepoID: resource.NilIfEmpty(repo.ExternalID), Name: repo.Name, URL: repo.URL,
		Provider: resource.NilIfEmpty(repo.Provider), Description: repo.Description, VCSInstance: resource.NilIfEmpty(repo.Instance()),
		NamespacePath: repo.NamespacePath, AdditionalInfo: repo.AdditionalInfo,
		CreatedAt: repo.CreatedAt, LastModifiedAt: repo.LastModifiedAt, Tags: resource.EmptyIfNil(repo.Tags),
	}
}
