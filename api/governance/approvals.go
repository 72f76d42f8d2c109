package governance

import (
	"bytes"
	"context"
	"encoding/json"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/storage"
)

// ApprovalPostInput is the body of post_approval, and its answer (docs/semantics.md 19.1).
type ApprovalPostInput struct {
	ArtifactFingerprint string                `json:"artifact_fingerprint" pattern:"^[a-f0-9]{64}$"`
	Description         string                `json:"description" format:"plain-text"`
	SrcCommitList       []string              `json:"src_commit_list" pattern:"^[a-f0-9]{40}$"`
	Environment         *string               `json:"environment,omitempty" nullable:"true" doc:"Name of the environment that the release is for."`
	OldestCommit        *string               `json:"oldest_commit,omitempty" nullable:"true" pattern:"^[a-f0-9]{40}$"`
	Approvals           []ApprovalReviewInput `json:"approvals,omitempty" nullable:"true" doc:"The last one decides; the approval is pending while there is none."`
	UserData            resource.UserData     `json:"user_data,omitempty"`
	raw                 json.RawMessage
}

// UnmarshalJSON decodes the members of the struct and keeps the whole JSON.
func (in *ApprovalPostInput) UnmarshalJSON(data []byte) error {
	type plain ApprovalPostInput
	in.raw = bytes.Clone(data)
	return json.Unmarshal(data, (*plain)(in))
}

// MarshalJSON returns the members that were sent, also those that are null.
func (in ApprovalPostInput) MarshalJSON() ([]byte, error) { return in.raw, nil }

// ApprovalReviewInput is one person's review of the release.
type ApprovalReviewInput struct {
	State       string  `json:"state" enum:"APPROVED,UNAPPROVED"`
	Comment     *string `json:"comment,omitempty" nullable:"true" format:"plain-text"`
	ApprovedBy  *string `json:"approved_by,omitempty" nullable:"true" format:"plain-text"`
	ApprovalURL *string `json:"approval_url,omitempty" nullable:"true"`
}

func (in *ApprovalPostInput) reviews() (reviews []approval.Review) {
	for _, sent := range in.Approvals {
		reviews = append(reviews, approval.Review{
			State: approval.State(sent.State), Comment: evidence.ZeroIfNil(sent.Comment),
			ApprovedBy: evidence.ZeroIfNil(sent.ApprovedBy), URL: evidence.ZeroIfNil(sent.ApprovalURL),
		})
	}
	return reviews
}

// postApproval approves the newest record of an artifact in a flow.
func (h *handlers) postApproval(ctx context.Context, in *resource.FlowPath, flowID string, body *ApprovalPostInput) (*server.StatusAnswer[ApprovalPostInput], error) {
	org := server.Access(ctx)
	record, err := h.Artifacts.Latest(ctx, org.OrgID, flowID, "", body.ArtifactFingerprint)
	if err != nil {
		return nil, resource.ArtifactNotFound(ctx, in.Flow, body.ArtifactFingerprint, err)
	}
	by := server.Principal(ctx)
	fresh := approval.Approval{
		ID: evidence.NewID(), Org: org.OrgID, Flow: flowID, Record: record.ID, Trail: record.Trail,
		Target: record.Fingerprint, ArtifactName: record.Filename, Description: body.Description,
		Commits: body.SrcCommitList, OldestCommit: evidence.ZeroIfNil(body.OldestCommit),
		Reviews: body.reviews(), UserData: body.UserData.Sent(),
		CreatedAt: evidence.Seconds(h.Clock()), ReportedBy: by.Name, ReportedByID: by.UserID,
	}
	fresh.State = approval.Overall(fresh.Reviews)
	if name := evidence.ZeroIfNil(body.Environment); name != "" {
		environment, err := h.ResolveEnvironment(ctx, name)
		if err != nil {
			return nil, err
		}
		fresh.Environment = environment.ID
	}
	return server.Stored(true, *body), h.Recorder.Approve(ctx, fresh)
}

type listApprovalsInput struct {
	resource.FlowPath
	Page    int `query:"page" minimum:"1" default:"1"`
	PerPage int `query:"per_page" minimum:"1" default:"20"`
}

// listApprovals lists the approvals of a flow, newest first.
func (h *handlers) listApprovals(ctx context.Context, in *listApprovalsInput, flowID string) (*server.Answer[jsonstream.List[ApprovalRecord]], error) {
	return h.listOfApprovals(h.Approvals.List(flowID, server.OffsetOf(in.Page, in.PerPage), in.PerPage)), nil
}

type listArtifactApprovalsInput struct {
	resource.FlowPath
	Fingerprint string `path:"fingerprint" pattern:"^[a-f0-9]{5,64}$" doc:"The fingerprint, or how it begins."`
}

// listArtifactApprovals lists the approvals of an artifact in a flow, newest first.
func (h *handlers) listArtifactApprovals(ctx context.Context, in *listArtifactApprovalsInput, flowID string) (*server.Answer[jsonstream.List[ApprovalRecord]], error) {
	record, err := h.Artifacts.Latest(ctx, server.Access(ctx).OrgID, flowID, "", in.Fingerprint)
	if err != nil {
		return nil, resource.ArtifactNotFound(ctx, in.Flow, in.Fingerprint, err)
	}
	return h.listOfApprovals(h.Approvals.OfArtifact(flowID, record.Fingerprint)), nil
}

func (h *handlers) listOfApprovals(batches *storage.Batches[approval.Approval]) *server.Answer[jsonstream.List[ApprovalRecord]] {
	show := func(ctx context.Context, batch []approval.Approval) ([]ApprovalRecord, error) {
		environments, err := h.environmentsOf(ctx, batch)
		return resource.Map(batch, func(one *approval.Approval) ApprovalRecord {
			return ApprovalRecord{ApprovalCommon: showApproval(one, environments), SrcCommitList: append([]string{}, one.Commits...)}
		}), err
	}
	return server.Answered(server.PartsOf(h.BatchBytes, batches, show))
}

// environmentsOf returns the environments of approvals by id.
func (h *handlers) environmentsOf(ctx context.Context, approvals []approval.Approval) (map[string]evidence.Environment, error) {
	ids := resource.UniqueOf(approvals, func(a *approval.Approval) string { return a.Environment })
	return h.Environments.Names(ctx, server.Access(ctx).OrgID, evidence.WithoutEmpty(ids))
}

type getApprovalInput struct {
	resource.FlowPath
	Number int `path:"approval_number" doc:"The release number."`
}

func (h *handlers) getApproval(ctx context.Context, in *getApprovalInput, flowID string) (*server.Answer[ApprovalWithCommits], error) {
	found, err := h.Approvals.Get(ctx, flowID, in.Number)
	if err != nil {
		return nil, resource.NotFound(err, "Approval number '%d' does not exist in flow '%s' belonging to organization '%s'", in.Number, in.Flow, server.Access(ctx).OrgName)
	}
	environments, err := h.environmentsOf(ctx, []approval.Approval{found})
	if err != nil {
		return nil, err
	}
	commits, err := h.knownCommits(ctx, &found)
	if err != nil {
		return nil, err
	}
	return server.Answered(ApprovalWithCommits{
		ApprovalCommon: showApproval(&found, environments),
		SrcCommitList: resource.Map(found.Commits, func(sha *string) ApprovalCommit {
			commit := commits[*sha]
			commit.SHA1 = *sha
			return ApprovalCommit(commit)
		}),
	}), nil
}

// knownCommits returns commits by SHA, from the approved record, its trail, and all records built from the commits.
func (h *handlers) knownCommits(ctx context.Context, a *approval.Approval) (map[string]evidence.GitCommit, error) {
	approved, err := h.Artifacts.GetMany(ctx, []string{a.Record})
	if err != nil {
		return nil, err
	}
	trail, err := h.Trails.Get(ctx, a.Flow, a.Trail)
	if err != nil {
		return nil, err
	}
	builds, err := h.Artifacts.Builds(ctx, server.Access(ctx).OrgID, a.Commits)
	if err != nil {
		return nil, err
	}
	records := append(approved, evidence.ArtifactRecord{Commit: trail.Commit})
	for _, sha := range a.Commits {
		records = append(records, builds[sha])
	}
	known := map[string]evidence.GitCommit{}
	for _, record := range records {
		commits := record.Commits
		if record.Commit != nil {
			commits = append([]evidence.GitCommit{*record.Commit}, commits...)
		}
		for _, commit := range commits {
			if sha := evidence.CommitSHA(&commit); known[sha].SHA1 == "" {
				known[sha] = commit
			}
		}
	}
	return known, nil
}

// ApprovalCommon has the members of an approval in all answers (docs/semantics.md 19.1). It is exported because huma
// ignores unexported embedded types.
type ApprovalCommon struct {
	ReleaseNumber  int              `json:"release_number"`
	BaseArtifact   string           `json:"base_artifact" doc:"Fingerprint of the artifact that was approved before, empty if there was none."`
	TargetArtifact string           `json:"target_artifact" pattern:"^[a-f0-9]{64}$"`
	ArtifactName   string           `json:"artifact_name"`
	Description    string           `json:"description"`
	CreatedAt      float64          `json:"created_at"`
	LastModifiedAt float64          `json:"last_modified_at"`
	State          string           `json:"state" enum:"APPROVED,UNAPPROVED,PENDING"`
	Approvals      []ApprovalReview `json:"approvals"`
	Environment    *string          `json:"environment" nullable:"true" doc:"Name of the environment that the release is for."`
	UserData       json.RawMessage  `json:"user_data"`
}

// ApprovalRecord is an approval in a list.
type ApprovalRecord struct {
	ApprovalCommon
	SrcCommitList []string `json:"src_commit_list"`
}

// ApprovalWithCommits is a single approval in an answer.
type ApprovalWithCommits struct {
	ApprovalCommon
	SrcCommitList []ApprovalCommit `json:"src_commit_list"`
}

// ApprovalReview is one person's review of the release.
type ApprovalReview struct {
	ApprovalURL string  `json:"approval_url"`
	ApprovedBy  string  `json:"approved_by"`
	Comment     string  `json:"comment"`
	State       string  `json:"state" enum:"APPROVED,UNAPPROVED"`
	Timestamp   float64 `json:"timestamp"`
}

// ApprovalCommit is a commit of an approval.
type ApprovalCommit evidence.GitCommit

// showApproval shows an approval. environments are by id.
func showApproval(a *approval.Approval, environments map[string]evidence.Environment) ApprovalCommon {
	shown := ApprovalCommon{
		ReleaseNumber: a.Number, BaseArtifact: a.Base, TargetArtifact: a.Target, ArtifactName: a.ArtifactName,
		Description: a.Description, CreatedAt: a.CreatedAt, LastModifiedAt: a.CreatedAt,
		State: string(a.State), UserData: resource.ObjectIfNil(a.UserData),
		Approvals: resource.Map(a.Reviews, func(r *approval.Review) ApprovalReview {
			return ApprovalReview{ApprovalURL: r.URL, ApprovedBy: r.ApprovedBy, Comment: r.Comment, State: string(r.State), Timestamp: a.CreatedAt}
		}),
	}
	if environment, ok := environments[a.Environment]; ok {
		shown.Environment = &environment.Name
	}
	return shown
}

type getRunningCommitInput struct {
	resource.FlowPath
	Environment string `path:"env_name" doc:"Name of the environment."`
}

// RunningCommit is the commit of a flow's artifact that runs in an environment (docs/semantics.md 19.1).
type RunningCommit struct {
	CommitSHA *string `json:"commit_sha" nullable:"true"`
}

// getCommitOfRunningArtifact returns the commit of the flow's artifact that runs in an environment. If several run, it
// is the artifact that was reported last. The commit is null if none runs or it is unknown.
func (h *handlers) getCommitOfRunningArtifact(ctx context.Context, in *getRunningCommitInput, flowID string) (*server.Answer[RunningCommit], error) {
	environment, err := h.LoadEnvironment(ctx, in.Environment)
	if err != nil {
		return nil, err
	}
	fingerprints, err := h.runningIn(ctx, &environment)
	if err != nil {
		return nil, err
	}
	known, err := h.Provenances.GetMany(ctx, server.Access(ctx).OrgID, fingerprints)
	if err != nil {
		return nil, err
	}
	var newest evidence.Origin
	for _, one := range known {
		if origin, ok := one.Flows[flowID]; ok && origin.Later(&newest) {
			newest = origin
		}
	}
	return server.Answered(RunningCommit{CommitSHA: resource.NilIfEmpty(newest.CommitSHA)}), nil
}

// runningIn returns the fingerprints in an environment's latest snapshot, or in those of a logical one's members.
func (h *handlers) runningIn(ctx context.Context, environment *evidence.Environment) ([]string, error) {
	ids := []string{environment.ID}
	if environment.Logical() {
		ids = environment.Active
	}
	heads, err := h.Heads.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	running, err := h.Running.In(ctx, ids)
	if err != nil {
		return nil, err
	}
	var fingerprints []string
	for _, one := range running {
		if one.Since <= heads[one.Environment].Last {
			fingerprints = append(fingerprints, one.Fingerprint)
		}
	}
	return resource.SortUnique(fingerprints), nil
}
