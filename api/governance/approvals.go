package governance

import (
	"context"
	"net/http"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/approval"
)

// approvalRoutes are those of approvals. They are deprecated, and keep working.
func (h *handlers) approvalRoutes() []server.Route {
	routes := []server.Route{
		{Method: http.MethodGet, Path: "/approvals/{org}/{flow_name}", OperationID: "list_approvals",
			Summary: "List the approvals of a flow", MinRole: evidence.Reader, Serve: server.Handle(h.listApprovals)},
		{Method: http.MethodPost, Path: "/approvals/{org}/{flow_name}", OperationID: "post_approval",
			Summary: "Approve an artifact, or ask for its approval", MinRole: evidence.Member, Statuses: []int{http.StatusCreated},
			Serve: server.WithBody(h.postApproval)},
		{Method: http.MethodGet, Path: "/approvals/{org}/{flow_name}/{approval_number}", OperationID: "get_approval",
			Summary: "Read an approval", MinRole: evidence.Reader, Serve: server.Handle(h.getApproval)},
		{Method: http.MethodGet, Path: "/approvals/{org}/{flow_name}/artifact-commit/{env_name}", OperationID: "get_commit_of_running_artifact",
			Summary: "Read the commit of a flow's artifact that runs in an environment", MinRole: evidence.Reader,
			Serve: server.Handle(h.getCommitOfRunningArtifact)},
		{Method: http.MethodGet, Path: "/artifacts/{org}/{flow_name}/{fingerprint}/approvals", OperationID: "list_artifact_approvals",
			Summary: "List the approvals of an artifact", MinRole: evidence.Reader, Serve: server.Handle(h.listArtifactApprovals)},
	}
	for i := range routes {
		routes[i].Tag, routes[i].Deprecated, routes[i].BasicToo = "Approvals", true, true
	}
	return routes
}

// ApprovalPostInput is the body of post_approval, and its answer (docs/semantics.md 19.1).
type ApprovalPostInput struct {
	ArtifactFingerprint string                `json:"artifact_fingerprint" pattern:"^[a-f0-9]{64}$"`
	Description         string                `json:"description" format:"plain-text"`
	SrcCommitList       []string              `json:"src_commit_list" pattern:"^[a-f0-9]{40}$"`
	Environment         *string               `json:"environment,omitempty" nullable:"true" doc:"Name of the environment that the release is for."`
	OldestCommit        *string               `json:"oldest_commit,omitempty" nullable:"true" pattern:"^[a-f0-9]{40}$"`
	Approvals           []ApprovalReviewInput `json:"approvals,omitempty" nullable:"true" doc:"The last one decides; the approval is pending while there is none."`
	UserData            resource.UserData     `json:"user_data,omitempty,omitzero"`
}

// ApprovalReviewInput is what one person says about the release.
type ApprovalReviewInput struct {
	State       string  `json:"state" enum:"APPROVED,UNAPPROVED"`
	Comment     *string `json:"comment,omitempty" nullable:"true" format:"plain-text"`
	ApprovedBy  *string `json:"approved_by,omitempty" nullable:"true" format:"plain-text"`
	ApprovalURL *string `json:"approval_url,omitempty" nullable:"true"`
}

func (in *ApprovalPostInput) reviews() []approval.Review {
	var reviews []approval.Review
	for _, sent := range in.Approvals {
		reviews = append(reviews, approval.Review{
			State: approval.State(sent.State), Comment: resource.ZeroIfNil(sent.Comment),
			ApprovedBy: resource.ZeroIfNil(sent.ApprovedBy), URL: resource.ZeroIfNil(sent.ApprovalURL),
		})
	}
	return reviews
}

// postApproval approves the newest record of an artifact in a flow.
func (h *handlers) postApproval(ctx context.Context, in *resource.FlowPath, body *ApprovalPostInput) (*server.StatusAnswer[ApprovalPostInput], error) {
	org := server.Access(ctx)
	ref, err := h.ResolveFlow(ctx, org, in.Flow)
	if err != nil {
		return nil, err
	}
	record, err := h.Artifacts.Latest(ctx, org.OrgID, ref.ID, "", body.ArtifactFingerprint)
	if err != nil {
		return nil, resource.ArtifactNotFound(org, in.Flow, body.ArtifactFingerprint, err)
	}
	by := server.Principal(ctx)
	fresh := approval.Approval{
		ID: evidence.NewID(), Org: org.OrgID, Flow: ref.ID, Record: record.ID, Trail: record.Trail,
		Target: record.Fingerprint, ArtifactName: record.Filename, Description: body.Description,
		Commits: body.SrcCommitList, OldestCommit: resource.ZeroIfNil(body.OldestCommit),
		Reviews: body.reviews(), UserData: body.UserData.Sent(),
		CreatedAt: evidence.Seconds(h.Clock()), ReportedBy: by.Name, ReportedByID: by.UserID,
	}
	fresh.State = approval.Overall(fresh.Reviews)
	if name := resource.ZeroIfNil(body.Environment); name != "" {
		environment, err := h.ResolveEnvironment(ctx, org, name)
		if err != nil {
			return nil, err
		}
		fresh.Environment = environment.ID
	}
	if err := h.Recorder.Approve(ctx, fresh); err != nil {
		return nil, err
	}
	return &server.StatusAnswer[ApprovalPostInput]{Status: http.StatusCreated, Body: *body}, nil
}
