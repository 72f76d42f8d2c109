package governance

import (
	"encoding/json"

	"attestry/api/resource"
	"attestry/evidence"
	"attestry/evidence/approval"
)

// ApprovalCommon is what all answers show of an approval (docs/semantics.md 19.1). It is
// exported because huma passes over embedded types that are not.
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

// ApprovalWithCommits is an approval by itself.
type ApprovalWithCommits struct {
	ApprovalCommon
	SrcCommitList []ApprovalCommit `json:"src_commit_list"`
}

// ApprovalReview is what one person says about the release.
type ApprovalReview struct {
	ApprovalURL string  `json:"approval_url"`
	ApprovedBy  string  `json:"approved_by"`
	Comment     string  `json:"comment"`
	State       string  `json:"state" enum:"APPROVED,UNAPPROVED"`
	Timestamp   float64 `json:"timestamp"`
}

// ApprovalCommit is a commit as far as the organization knows it. Its members are those of
// evidence.GitCommit.
type ApprovalCommit struct {
	SHA1           string   `json:"sha1"`
	Message        *string  `json:"message" nullable:"true"`
	Author         *string  `json:"author" nullable:"true"`
	AuthorUsername *string  `json:"author_username" nullable:"true"`
	Branch         *string  `json:"branch" nullable:"true"`
	Timestamp      *float64 `json:"timestamp" nullable:"true" doc:"Unix seconds."`
	URL            *string  `json:"url" nullable:"true"`
	Parents        []string `json:"parents" nullable:"true"`
	Verified       *bool    `json:"verified" nullable:"true"`
	SignatureState *string  `json:"signature_state" nullable:"true"`
}

// showApproval shows an approval with the names that environments have now, by id.
func showApproval(a *approval.Approval, environments map[string]evidence.Environment) ApprovalCommon {
	shown := ApprovalCommon{
		ReleaseNumber: a.Number, BaseArtifact: a.Base, TargetArtifact: a.Target, ArtifactName: a.ArtifactName,
		Description: a.Description, CreatedAt: a.CreatedAt, LastModifiedAt: a.CreatedAt,
		State: string(a.State), Approvals: []ApprovalReview{}, UserData: resource.ObjectIfNil(a.UserData),
	}
	if environment, ok := environments[a.Environment]; ok {
		shown.Environment = &environment.Name
	}
	for _, review := range a.Reviews {
		shown.Approvals = append(shown.Approvals, ApprovalReview{
			ApprovalURL: review.URL, ApprovedBy: review.ApprovedBy, Comment: review.Comment,
			State: string(review.State), Timestamp: a.CreatedAt,
		})
	}
	return shown
}
