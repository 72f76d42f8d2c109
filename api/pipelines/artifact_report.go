package pipelines

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
)

// legacyArtifactName is the reference name of an artifact that is reported
// without one: that of the template which the legacy list makes
// (docs/semantics.md 5.1).
const legacyArtifactName = "artifact"

func (h *handlers) artifactReportRoutes() []server.Route {
	return []server.Route{{
		Method: http.MethodPost, Path: "/artifacts/{org}/{flow_name}", OperationID: "create_artifact", Tag: "Artifacts",
		Summary: "Report an artifact", MinRole: evidence.Member,
		Statuses: []int{http.StatusCreated}, Serve: server.WithBody(h.reportArtifact),
	}}
}

// CreateArtifact is the body of create_artifact (docs/semantics.md 5.1).
type CreateArtifact struct {
	_                     struct{}                                    `json:"-" additionalProperties:"true"`
	TrailName             *string                                     `json:"trail_name,omitempty" nullable:"true" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_.~]*$"`
	TemplateReferenceName *string                                     `json:"template_reference_name,omitempty" nullable:"true" maxLength:"255" pattern:"^[a-zA-Z0-9\\-_]+$"`
	Fingerprint           string                                      `json:"fingerprint" pattern:"^[a-f0-9]{64}$"`
	Filename              string                                      `json:"filename" minLength:"1" maxLength:"1024" format:"plain-text"`
	Description           *string                                     `json:"description,omitempty" nullable:"true" format:"plain-text"`
	GitCommit             *string                                     `json:"git_commit,omitempty" nullable:"true" pattern:"^[a-f0-9]{40}$"`
	GitCommitInfo         resource.OrNull[resource.GitCommit]         `json:"git_commit_info,omitempty"`
	RepoInfo              resource.OrNull[resource.RepoInfoPostInput] `json:"repo_info,omitempty"`
	CommitsList           []resource.GitCommit                        `json:"commits_list,omitempty" nullable:"true"`
	RepoURL               *string                                     `json:"repo_url,omitempty" nullable:"true" format:"repository-url"`
	IsCompliant           *bool                                       `json:"is_compliant,omitempty" nullable:"true" doc:"Ignored; what counts are the attestations."`
	BuildURL              string                                      `json:"build_url" format:"uri-reference"`
	CommitURL             string                                      `json:"commit_url" format:"uri-reference"`
	Template              ArtifactTemplate                            `json:"template,omitempty" doc:"Ignored; what counts is the trail's template."`
	ExternalURLs          resource.ExternalURLs                       `json:"external_urls,omitempty"`
	Annotations           resource.OptionalMembers                    `json:"annotations,omitempty"`
	UserData              resource.UserData                           `json:"user_data,omitempty"`
}

// ArtifactTemplate is what older clients tell of an artifact's template: a text or
// a list of names. It may be absent or null.
type ArtifactTemplate struct{ json.RawMessage }

// Schema is a union, as findings name its branches.
func (ArtifactTemplate) Schema(huma.Registry) *huma.Schema {
	text := &huma.Schema{Type: huma.TypeString}
	return &huma.Schema{AnyOf: []*huma.Schema{text, {Type: huma.TypeArray, Items: text}, {Type: validation.TypeNull}}}
}

type messageAnswer struct {
	Status int
	Body   struct {
		Message string `json:"message"`
	}
}

// reportArtifact records an artifact. Flow and trail are made when they are not
// there (docs/semantics.md 4.2).
func (h *handlers) reportArtifact(ctx context.Context, in *resource.NewFlowPath, body *CreateArtifact) (*messageAnswer, error) {
	record := body.record()
	if err := resource.CheckTrailName(record.Trail); err != nil {
		return nil, err
	}
	scope := h.Scope(ctx, in.Flow, record.Trail)
	repo, err := h.ReportRepo(ctx, scope, body.RepoInfo)
	if err != nil {
		return nil, err
	}
	if repo != nil {
		record.Repo = repo.ID
	}
	record.ID, record.Org, record.CreatedAt = evidence.NewID(), scope.Org, scope.At
	record.ReportedBy, record.ReportedByID = scope.By, scope.ByID
	if err := h.Recorder.Report(ctx, scope, record, repo); err != nil {
		return nil, err
	}
	answer := &messageAnswer{Status: http.StatusCreated}
	answer.Body.Message = "OK"
	return answer, nil
}

// record is what the body tells. Without a trail it belongs to that of its commit,
// or, with none either, of its fingerprint.
func (b *CreateArtifact) record() evidence.ArtifactRecord {
	commit := resource.CommitOf(b.GitCommitInfo)
	sha := cmp.Or(resource.ZeroIfNil(b.GitCommit), evidence.CommitSHA(commit))
	record := evidence.ArtifactRecord{
		Trail:        cmp.Or(resource.ZeroIfNil(b.TrailName), sha, b.Fingerprint),
		TrailUnnamed: b.TrailName == nil,
		Name:         cmp.Or(resource.ZeroIfNil(b.TemplateReferenceName), legacyArtifactName),
		Fingerprint:  b.Fingerprint,
		Filename:     b.Filename,
		Description:  resource.ZeroIfNil(b.Description),
		CommitSHA:    sha,
		Commit:       commit,
		BuildURL:     b.BuildURL,
		CommitURL:    b.CommitURL,
		RepoURL:      b.RepoURL,
		ExternalURLs: b.ExternalURLs.Evidence(),
		Annotations:  resource.Present(b.Annotations.RawMessage),
		UserData:     b.UserData.Sent(),
	}
	for _, sent := range b.CommitsList {
		record.Commits = append(record.Commits, sent.Evidence().Redacted())
	}
	if record.Commit == nil {
		record.Commit = commitNamed(record.Commits, sha)
	}
	return record
}

// commitNamed finds the commit of an artifact in the list that older clients send
// (docs/semantics.md 5.1).
func commitNamed(commits []evidence.GitCommit, sha string) *evidence.GitCommit {
	for _, commit := range commits {
		if strings.EqualFold(commit.SHA1, sha) {
			return &commit
		}
	}
	return nil
}
