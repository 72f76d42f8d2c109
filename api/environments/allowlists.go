package environments

import (
	"context"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/storage/environments"
)

// AllowlistPutInput is the body of allow_artifact_for_env, and its answer (docs/semantics.md 9.5).
type AllowlistPutInput struct {
	ArtifactName        string `json:"artifact_name" doc:"As the environment reports it."`
	ArtifactFingerprint string `json:"artifact_fingerprint" pattern:"^[a-f0-9]{64}$"`
	Description         string `json:"description" doc:"Why it is permitted." format:"plain-text"`
	ExpiresAt           int64  `json:"expires_at,omitempty" maximum:"4102444800" doc:"When the permission ends, in Unix seconds; 0 or absent for never."`
}

// AllowlistResponse is an entry of an allow list in answers (docs/semantics.md 9.5).
type AllowlistResponse struct {
	ArtifactName    string  `json:"artifact_name"`
	Fingerprint     string  `json:"fingerprint" pattern:"^[a-f0-9]{64}$"`
	EnvironmentName string  `json:"environment_name"`
	Timestamp       float64 `json:"timestamp" doc:"When it was permitted last, Unix seconds."`
	UserName        string  `json:"user_name" doc:"Who permitted it last."`
	Description     string  `json:"description"`
	ExpiresAt       float64 `json:"expires_at,omitempty" doc:"When the permission ends or ended, Unix seconds; absent for never."`
}

// allowArtifact adds an artifact to an environment's allow list. The environment is evaluated again, whatever runs there:
// the fingerprint may be that of an index whose image runs. The answer waits for a snapshot with a new verdict.
func (h *handlers) allowArtifact(ctx context.Context, in *resource.EnvironmentPath, ref environments.EnvironmentRef, body *AllowlistPutInput) (*server.StatusAnswer[AllowlistPutInput], error) {
	org := server.Access(ctx)
	if ref.Type == evidence.LogicalType {
		return nil, validation.Fault("env_name", "Only physical environments have an allow list", in.Environment)
	}
	by, now := server.Principal(ctx), evidence.Seconds(h.Clock())
	if body.ExpiresAt != 0 && float64(body.ExpiresAt) <= now {
		return nil, evidence.FieldError("expires_at", "expires_at cannot be in the past [input: %d]", body.ExpiresAt)
	}
	_, err := h.Allowlist.Put(ctx, evidence.Allowance{
		ID: evidence.NewID(), Org: org.OrgID, Environment: ref.ID, Fingerprint: body.ArtifactFingerprint,
		ArtifactName: body.ArtifactName, Description: body.Description,
		UserID: by.UserID, UserName: by.Name, At: now, ExpiresAt: float64(body.ExpiresAt),
	})
	if err != nil {
		return nil, err
	}
	if err := h.Generations.Bump(ctx, org.OrgID); err != nil {
		return nil, err
	}
	return server.Stored(true, *body), h.Intake.Reevaluate(ctx, org.OrgID, ref.ID, ref.Type, by.Name)
}

// listAllowlist lists the allow lists of an organization, newest entries first, without archived environments.
func (h *handlers) listAllowlist(ctx context.Context, _ *server.OrgPath) (*server.Answer[jsonstream.List[AllowlistResponse]], error) {
	return server.Answered(server.ListOf(h.BatchBytes, h.Allowlist.List(server.Access(ctx).OrgID), h.showAllowances)), nil
}

// showAllowances shows allowances with the current names of their environments.
func (h *handlers) showAllowances(ctx context.Context, all []evidence.Allowance) ([]AllowlistResponse, error) {
	ids := resource.UniqueOf(all, func(one *evidence.Allowance) string { return one.Environment })
	names, err := h.Environments.ActiveNames(ctx, server.Access(ctx).OrgID, ids)
	if err != nil {
		return nil, err
	}
	shown := make([]AllowlistResponse, 0, len(all))
	for _, one := range all {
		name, ok := names[one.Environment]
		if !ok {
			continue
		}
		shown = append(shown, AllowlistResponse{
			ArtifactName: one.ArtifactName, Fingerprint: one.Fingerprint, EnvironmentName: name,
			Timestamp: one.At, UserName: one.UserName, Description: one.Description, ExpiresAt: one.ExpiresAt,
		})
	}
	return shown, nil
}
