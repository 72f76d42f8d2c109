package organizations

import (
	"context"
	"net/http"

	"attestry/api/server"
	"attestry/evidence"
)

func (h *handlers) targetSecretRoutes() []server.Route {
	return []server.Route{{
		Method: http.MethodPost, Path: "/actions/{org}/{action_number}/targets/{target_id}/secret", OperationID: "rotate_target_secret", Tag: "Actions",
		Summary: "Make a new signing secret for a webhook", MinRole: evidence.Member, Serve: server.Handle(h.rotateTargetSecret),
	}}
}

// TargetPath is the path of a target of an action.
type TargetPath struct {
	ActionPath
	Target string `path:"target_id" doc:"Id of the target."`
}

// TargetSecret is the signing secret of a target (docs/semantics.md 20.5).
type TargetSecret struct {
	TargetID string `json:"target_id"`
	Secret   string `json:"secret" doc:"Shown this once."`
}

func (h *handlers) rotateTargetSecret(ctx context.Context, in *TargetPath) (*server.Answer[TargetSecret], error) {
	action, err := h.findAction(ctx, in.Number)
	if err != nil {
		return nil, err
	}
	target, ok := action.Target(in.Target)
	if !ok {
		return nil, evidence.NewError(evidence.NotFound, "Target not found")
	}
	if !target.Type.Channel().Signed {
		return nil, evidence.NewError(evidence.Invalid, "Only targets of the type WEBHOOK have a signing secret")
	}
	secret, err := h.Targets.RotateSecret(ctx, server.Access(ctx).OrgID, in.Number, in.Target, evidence.Seconds(h.Clock()))
	return server.Answered(TargetSecret{TargetID: in.Target, Secret: secret}), err
}
