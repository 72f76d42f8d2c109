package governance

import (
	"context"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/storage"
)

type listApprovalsInput struct {
	resource.FlowPath
	Page    int `query:"page" minimum:"1" default:"1"`
	PerPage int `query:"per_page" minimum:"1" default:"20"`
}

// listApprovals lists the approvals of a flow, newest first.
func (h *handlers) listApprovals(ctx context.Context, in *listApprovalsInput) (*server.Answer[jsonstream.List[ApprovalRecord]], error) {
	org := server.Access(ctx)
	ref, err := h.ResolveFlow(ctx, org, in.Flow)
	if err != nil {
		return nil, err
	}
	return h.listOfApprovals(org, h.Approvals.List(ref.ID, server.OffsetOf(in.Page, in.PerPage), in.PerPage)), nil
}

type listArtifactApprovalsInput struct {
	resource.FlowPath
	Fingerprint string `path:"fingerprint" pattern:"^[a-f0-9]{5,64}$" doc:"The fingerprint, or how it begins."`
}

// listArtifactApprovals lists the approvals of an artifact in a flow, newest first.
func (h *handlers) listArtifactApprovals(ctx context.Context, in *listArtifactApprovalsInput) (*server.Answer[jsonstream.List[ApprovalRecord]], error) {
	org := server.Access(ctx)
	ref, err := h.ResolveFlow(ctx, org, in.Flow)
	if err != nil {
		return nil, err
	}
	record, err := h.Artifacts.Latest(ctx, org.OrgID, ref.ID, "", in.Fingerprint)
	if err != nil {
		return nil, resource.ArtifactNotFound(org, in.Flow, in.Fingerprint, err)
	}
	return h.listOfApprovals(org, h.Approvals.OfArtifact(ref.ID, record.Fingerprint)), nil
}

func (h *handlers) listOfApprovals(org evidence.OrgAccess, batches *storage.Batches[approval.Approval]) *server.Answer[jsonstream.List[ApprovalRecord]] {
	show := func(ctx context.Context, batch []approval.Approval) ([]ApprovalRecord, error) {
		environments, err := h.environmentsOf(ctx, org, batch)
		if err != nil {
			return nil, err
		}
		return resource.Map(batch, func(one *approval.Approval) ApprovalRecord {
			return ApprovalRecord{ApprovalCommon: showApproval(one, environments), SrcCommitList: append([]string{}, one.Commits...)}
		}), nil
	}
	return server.Answered(server.PartsOf(h.BatchBytes, batches, show))
}

// environmentsOf returns the environments that approvals name, by id.
func (h *handlers) environmentsOf(ctx context.Context, org evidence.OrgAccess, approvals []approval.Approval) (map[string]evidence.Environment, error) {
	var ids []string
	for _, one := range approvals {
		if one.Environment != "" {
			ids = append(ids, one.Environment)
		}
	}
	return h.Environments.Names(ctx, org.OrgID, resource.SortUnique(ids))
}

type getApprovalInput struct {
	resource.FlowPath
	Number int `path:"approval_number" doc:"The release number."`
}

// getApproval reads an approval, with what is known of its commits.
func (h *handlers) getApproval(ctx context.Context, in *getApprovalInput) (*server.Answer[ApprovalWithCommits], error) {
	org := server.Access(ctx)
	ref, err := h.ResolveFlow(ctx, org, in.Flow)
	if err != nil {
		return nil, err
	}
	found, err := h.Approvals.Get(ctx, ref.ID, in.Number)
	if err != nil {
		return nil, resource.NotFound(err, "Approval number '%d' does not exist in flow '%s' belonging to organization '%s'", in.Number, in.Flow, org.OrgName)
	}
	environments, err := h.environmentsOf(ctx, org, []approval.Approval{found})
	if err != nil {
		return nil, err
	}
	commits, err := h.knownCommits(ctx, org, &found)
	if err != nil {
		return nil, err
	}
	body := ApprovalWithCommits{ApprovalCommon: showApproval(&found, environments), SrcCommitList: []ApprovalCommit{}}
	for _, sha := range found.Commits {
		commit := commits[sha]
		commit.SHA1 = sha
		body.SrcCommitList = append(body.SrcCommitList, ApprovalCommit(commit))
	}
	return server.Answered(body), nil
}

// knownCommits returns what is known of commits, by SHA: what the approved record and its
// trail tell of them, and then the records that were built from them, in any flow.
func (h *handlers) knownCommits(ctx context.Context, org evidence.OrgAccess, a *approval.Approval) (map[string]evidence.GitCommit, error) {
	approved, err := h.Artifacts.GetMany(ctx, []string{a.Record})
	if err != nil {
		return nil, err
	}
	trail, err := h.Trails.Get(ctx, a.Flow, a.Trail)
	if err != nil {
		return nil, err
	}
	builds, err := h.Artifacts.Builds(ctx, org.OrgID, a.Commits)
	if err != nil {
		return nil, err
	}
	known := map[string]evidence.GitCommit{}
	add := func(commit *evidence.GitCommit) {
		sha := evidence.CommitSHA(commit)
		if _, ok := known[sha]; commit != nil && !ok {
			known[sha] = *commit
		}
	}
	addRecord := func(record *evidence.ArtifactRecord) {
		add(record.Commit)
		for i := range record.Commits {
			add(&record.Commits[i])
		}
	}
	for i := range approved {
		addRecord(&approved[i])
	}
	add(trail.Commit)
	for _, sha := range a.Commits {
		if record, ok := builds[sha]; ok {
			addRecord(&record)
		}
	}
	return known, nil
}
