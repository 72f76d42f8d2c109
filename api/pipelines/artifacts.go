package pipelines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
)

const (
	defaultArtifactsPerPage = 15
	// maxArtifacts bounds a list. The API states no limit.
	maxArtifacts = 1000
)

// ArtifactFlowPath is the path of an operation that reads artifacts of a flow.
type ArtifactFlowPath struct {
	server.OrgPath
	Flow string `path:"flow_name" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\.\\-_~]*$" doc:"Name of the flow."`
}

// Ref is the name of the flow.
func (p ArtifactFlowPath) Ref() string { return p.Flow }

type listArtifactsInput struct {
	server.OrgPath
	Flow string `query:"flow_name" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\.\\-_~]*$" doc:"Name of a flow."`
	Repo string `query:"repo_name" doc:"Name of a repository."`
	resource.RepoProviderQuery
	Search  string `query:"search" doc:"Part of the file name, whatever its case: the newest 10,000 artifacts are searched."`
	Page    int    `query:"page" default:"1"`
	PerPage int    `query:"per_page" default:"15" doc:"At most 1000."`
}

type listFlowArtifactsInput struct {
	ArtifactFlowPath
	Page    int `query:"page" default:"1"`
	PerPage int `query:"per_page" default:"15" doc:"At most 1000."`
}

// listArtifacts lists the artifacts of an organization, newest first.
func (h *handlers) listArtifacts(ctx context.Context, in *listArtifactsInput) (*server.Answer[jsonstream.List[ArtifactListItemResponse]], error) {
	org := server.Access(ctx)
	query := artifactPage(org, in.Page, in.PerPage)
	if in.Flow != "" {
		flow, err := h.ResolveFlow(ctx, in.Flow)
		if err != nil {
			return nil, err
		}
		query.Flow = flow
	}
	if in.Repo != "" {
		repo, err := h.LoadRepo(ctx, in.Repo, in.Provider)
		if err != nil {
			return nil, err
		}
		query.Repo = repo.ID
	}
	if in.Search != "" {
		ids, err := h.Artifacts.Containing(ctx, query, in.Search)
		return h.pageOfArtifacts(org, h.Artifacts.OfIDs(server.CutPage(ids, in.Page, query.Limit))), err
	}
	return h.pageOfArtifacts(org, h.Artifacts.List(query)), nil
}

// listFlowArtifacts lists the artifacts of a flow, newest first.
func (h *handlers) listFlowArtifacts(ctx context.Context, in *listFlowArtifactsInput, flowID string) (*server.Answer[jsonstream.List[ArtifactListItemResponse]], error) {
	org := server.Access(ctx)
	query := artifactPage(org, in.Page, in.PerPage)
	query.Flow = flowID
	return h.pageOfArtifacts(org, h.Artifacts.List(query)), nil
}

// artifactPage returns the query for a page. Numbers below 1 mean the defaults, as the API states no minimum.
func artifactPage(org evidence.OrgAccess, number, size int) pipelines.ArtifactQuery {
	if size < 1 {
		size = defaultArtifactsPerPage
	}
	size = min(size, maxArtifacts)
	return pipelines.ArtifactQuery{Org: org.OrgID, Offset: server.OffsetOf(number, size), Limit: size}
}

func (h *handlers) pageOfArtifacts(org evidence.OrgAccess, found *storage.Batches[evidence.ArtifactRecord]) *server.Answer[jsonstream.List[ArtifactListItemResponse]] {
	show := func(ctx context.Context, records []evidence.ArtifactRecord) ([]ArtifactListItemResponse, error) {
		evaluated, err := h.evaluate(ctx, org, records, nil)
		return resource.Map(evaluated, func(a *evaluatedArtifact) ArtifactListItemResponse {
			return ArtifactListItemResponse{ArtifactCommon: h.showCommon(org, a), Releases: []int{}}
		}), err
	}
	return server.Answered(server.PartsOf(h.BatchBytes, found, show))
}

type getArtifactInput struct {
	ArtifactFlowPath
	Fingerprint string `path:"fingerprint" pattern:"^[a-f0-9]{5,64}$" doc:"The fingerprint, or how it begins."`
	Trail       string `query:"trail" doc:"Name of the trail that it was reported to."`
	Attestation string `query:"attestation_id" pattern:"^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{8}$" doc:"Id of an attestation of it."`
}

// getArtifact reads the newest record of a fingerprint in a flow.
func (h *handlers) getArtifact(ctx context.Context, in *getArtifactInput, flowID string) (*server.Answer[ArtifactResponse], error) {
	record, err := h.requestedRecord(ctx, server.Access(ctx), flowID, in)
	if err != nil {
		return nil, resource.ArtifactNotFound(ctx, in.Flow, in.Fingerprint, err)
	}
	return server.AnsweredOne(h.showArtifacts(ctx, []evidence.ArtifactRecord{record}))
}

// requestedRecord returns the newest record of the fingerprint, in the request's trail if it has one. If it has an
// attestation, the record is of the attestation's artifact and in its trail.
func (h *handlers) requestedRecord(ctx context.Context, org evidence.OrgAccess, flow string, in *getArtifactInput) (evidence.ArtifactRecord, error) {
	trail, digits, attested := in.Trail, in.Fingerprint, ""
	if in.Attestation != "" {
		attestation, err := h.Attestations.Get(ctx, org.OrgID, in.Attestation)
		if err != nil {
			return evidence.ArtifactRecord{}, err
		}
		if attestation.Flow != flow || (trail != "" && attestation.Trail != trail) {
			return evidence.ArtifactRecord{}, storage.ErrNotFound
		}
		trail, attested = attestation.Trail, attestation.Fingerprint // "" of one by the artifact's name
		if strings.HasPrefix(attested, digits) {
			digits = attested
		}
	}
	record, err := h.Artifacts.Latest(ctx, org.OrgID, flow, trail, digits)
	if err == nil && attested != "" && record.Fingerprint != attested {
		err = storage.ErrNotFound
	}
	return record, err
}

type getArtifactsOfCommitInput struct {
	ArtifactFlowPath
	Commit string `path:"commit_sha" doc:"The SHA of the commit, or at least five digits that it begins with."`
	Trail  string `query:"trail" doc:"Name of the trail that they were reported to."`
}

// getArtifactsOfCommit lists the artifacts that were built from a commit, newest first.
func (h *handlers) getArtifactsOfCommit(ctx context.Context, in *getArtifactsOfCommitInput, flowID string) (*server.Answer[jsonstream.List[ArtifactResponse]], error) {
	records, err := h.Artifacts.OfCommit(ctx, server.Access(ctx).OrgID, flowID, in.Trail, strings.ToLower(in.Commit), maxArtifacts)
	if err != nil {
		return nil, resource.Unambiguous(err, in.Commit)
	}
	return server.Answered(server.PartsOf(h.BatchBytes, records, h.showArtifacts)), nil
}

type getLatestCommitInput struct {
	ArtifactFlowPath
	Fingerprint string `path:"fingerprint" pattern:"^[a-f0-9]{5,64}$" doc:"The fingerprint, or how it begins."`
	Branch      string `query:"branch" doc:"The branch that the commit is on."`
}

// LatestCommitResponse is the commit that an artifact was last built from (docs/semantics.md 5.4).
type LatestCommitResponse struct {
	LatestCommit *string `json:"latest_commit" nullable:"true"`
}

// getLatestCommit returns the commit of the newest record of a fingerprint. If there is none, as before the artifact is
// reported, it returns the commit of the flow's newest artifact, or null (docs/semantics.md 5.4).
func (h *handlers) getLatestCommit(ctx context.Context, in *getLatestCommitInput, flowID string) (*server.Answer[LatestCommitResponse], error) {
	org := server.Access(ctx)
	record, err := h.Artifacts.LatestOnBranch(ctx, org.OrgID, flowID, in.Branch, in.Fingerprint)
	if errors.Is(err, storage.ErrNotFound) {
		record, err = h.Artifacts.LatestOfFlow(ctx, org.OrgID, flowID, in.Branch)
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, resource.Unambiguous(err, in.Fingerprint)
	}
	return server.Answered(LatestCommitResponse{LatestCommit: resource.NilIfEmpty(record.CommitSHA)}), nil
}

// ArtifactCommon has the members of an artifact in lists and single answers (docs/semantics.md 5.3). It is exported
// because huma ignores unexported embedded types.
type ArtifactCommon struct {
	ID                    string                                    `json:"id"`
	TrailName             string                                    `json:"trail_name"`
	TemplateReferenceName string                                    `json:"template_reference_name"`
	Fingerprint           string                                    `json:"fingerprint"`
	Filename              string                                    `json:"filename"`
	GitCommit             string                                    `json:"git_commit" doc:"40 zeros when it is unknown or shorter than 7 characters."`
	GitCommitInfo         resource.OrNull[resource.GitCommit]       `json:"git_commit_info"`
	RepoInfo              resource.OrNull[RepoInfoResponse]         `json:"repo_info"`
	CommitURL             string                                    `json:"commit_url"`
	BuildURL              string                                    `json:"build_url"`
	RepoURL               *string                                   `json:"repo_url" nullable:"true"`
	HTMLURL               string                                    `json:"html_url"`
	APIURL                string                                    `json:"api_url"`
	CreatedAt             float64                                   `json:"created_at"`
	LastModifiedAt        float64                                   `json:"last_modified_at"`
	UserData              json.RawMessage                           `json:"user_data"`
	ExternalURLs          map[string]resource.ExternalAttachmentUrl `json:"external_urls" nullable:"true"`
	Annotations           json.RawMessage                           `json:"annotations"`
	State                 evidence.Status                           `json:"state" enum:"COMPLIANT,NON-COMPLIANT,INCOMPLETE"`
	Deployments           []int                                     `json:"deployments" doc:"Always empty; deployments are derived from what runs."`
	Evidence              map[string]any                            `json:"evidence" doc:"Always empty; attestations have taken its place."`
}

// RepoInfoResponse is the repository of an artifact (docs/semantics.md 15.1).
type RepoInfoResponse struct {
	Name        string  `json:"name"`
	ID          *string `json:"id" nullable:"true" doc:"At the provider."`
	URL         string  `json:"url"`
	Description *string `json:"description" nullable:"true"`
	Provider    *string `json:"provider" nullable:"true"`
}

// ArtifactListItemResponse is an artifact in a list (docs/semantics.md 5.2).
type ArtifactListItemResponse struct {
	ArtifactCommon
	Releases []int `json:"releases"`
}

// ArtifactResponse is a single artifact in an answer (docs/semantics.md 5.3).
type ArtifactResponse struct {
	ArtifactCommon
	Template          []string           `json:"template" nullable:"true" doc:"The attestations that are required of it."`
	ChildFingerprints []string           `json:"child_fingerprints,omitempty" doc:"Other digests that it runs under."`
	FlowName          string             `json:"flow_name"`
	StateInfo         string             `json:"state_info"`
	Approvals         []int              `json:"approvals" doc:"The release numbers of its approvals in the flow."`
	Running           []ArtifactPlace    `json:"running"`
	Exited            []ArtifactPlace    `json:"exited"`
	History           []ArtifactHistory  `json:"history"`
	CommitLeadTimes   map[string]float64 `json:"commit_lead_times"`
	BuildLeadTimes    map[string]float64 `json:"build_lead_times"`
}

// ArtifactPlace is an environment that an artifact runs or ran in.
type ArtifactPlace struct {
	EnvironmentName string `json:"environment_name"`
	SnapshotIndex   int64  `json:"snapshot_index"`
}

// ArtifactHistory is an event of an artifact.
type ArtifactHistory struct {
	Event     string  `json:"event"`
	Timestamp float64 `json:"timestamp"`
}

// legacyArtifactName is the reference name of an artifact that is reported without one (docs/semantics.md 5.1). The
// artifact in the templates of legacy flows has it, too (docs/semantics.md 3.4).
const legacyArtifactName = "artifact"

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
	ChildFingerprints     []string                                    `json:"child_fingerprints,omitempty" nullable:"true" maxItems:"100" pattern:"^[a-f0-9]{64}$" doc:"Other digests that the artifact runs under: those of the manifests for platforms, if the fingerprint is that of an index."`
	Template              ArtifactTemplate                            `json:"template,omitempty" doc:"Ignored; what counts is the trail's template."`
	ExternalURLs          resource.ExternalURLs                       `json:"external_urls,omitempty"`
	Annotations           resource.OptionalMembers                    `json:"annotations,omitempty"`
	UserData              resource.UserData                           `json:"user_data,omitempty"`
}

// ArtifactTemplate is the template of an artifact that older clients send: a text, a list of names, or null.
type ArtifactTemplate struct{ json.RawMessage }

// Schema is a union because validation errors name its branches.
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

// reportArtifact records an artifact. It creates the flow and the trail if they do not exist (docs/semantics.md 4.2).
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

// record returns the record of a body. The default of the trail's name is the commit, else the fingerprint.
func (b *CreateArtifact) record() evidence.ArtifactRecord {
	commit := resource.CommitOf(b.GitCommitInfo)
	sha := cmp.Or(evidence.ZeroIfNil(b.GitCommit), evidence.CommitSHA(commit))
	record := evidence.ArtifactRecord{
		Trail:             cmp.Or(evidence.ZeroIfNil(b.TrailName), sha, b.Fingerprint),
		TrailUnnamed:      b.TrailName == nil,
		Name:              cmp.Or(evidence.ZeroIfNil(b.TemplateReferenceName), legacyArtifactName),
		Fingerprint:       b.Fingerprint,
		Filename:          b.Filename,
		Description:       evidence.ZeroIfNil(b.Description),
		CommitSHA:         sha,
		Commit:            commit,
		BuildURL:          b.BuildURL,
		CommitURL:         b.CommitURL,
		RepoURL:           b.RepoURL,
		ExternalURLs:      b.ExternalURLs.Evidence(),
		ChildFingerprints: slices.DeleteFunc(evidence.Distinct(b.ChildFingerprints), func(child string) bool { return child == b.Fingerprint }),
		Annotations:       resource.Present(b.Annotations.RawMessage),
		UserData:          b.UserData.Sent(),
	}
	for _, sent := range b.CommitsList {
		record.Commits = append(record.Commits, sent.Evidence().Redacted())
	}
	// Older clients send the commit only in the list (docs/semantics.md 5.1).
	listed, ok := evidence.First(record.Commits, func(c evidence.GitCommit) bool { return strings.EqualFold(c.SHA1, sha) })
	if ok && record.Commit == nil {
		record.Commit = &listed
	}
	return record
}
