package organizations

import (
	"encoding/json"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/evidence"
	"attestry/evidence/notification"
)

// TargetResponse is a target of an action as answers show it: in the form of its type.
type TargetResponse struct{ form any }

// Schema is the union of the forms.
func (TargetResponse) Schema(registry huma.Registry) *huma.Schema {
	union := &huma.Schema{}
	for _, form := range targetForms {
		union.AnyOf = append(union.AnyOf, registry.Schema(form.answer, true, ""))
	}
	return union
}

// MarshalJSON encodes the form.
func (t TargetResponse) MarshalJSON() ([]byte, error) { return json.Marshal(t.form) }

// TargetStatus is what is known of a target.
type TargetStatus struct {
	ID                string   `json:"id" doc:"Follows from the type and the addresses: it stays when the action is stored again."`
	LastSuccessAt     *float64 `json:"last_success_at" nullable:"true"`
	LastFailureAt     *float64 `json:"last_failure_at" nullable:"true"`
	IsFailing         bool     `json:"is_failing" doc:"Whether the last attempt failed."`
	SwitchedOffAt     *float64 `json:"switched_off_at" nullable:"true" doc:"Since when the target is told no more, as it failed for long or is gone."`
	SwitchedOffReason string   `json:"switched_off_reason,omitempty" doc:"Why the target is told no more. Absent while it is told."`
}

// seesAddresses reports whether a principal sees the addresses of webhooks, which are secrets of chat
// services, and what receivers answer, as answers may repeat them.
func seesAddresses(access evidence.OrgAccess) bool { return access.Role.Allows(evidence.Member) }

// showTarget shows a target. Whoever may not see addresses sees the origin of a webhook.
func showTarget(target *notification.Target, state *notification.TargetState, addresses bool) TargetResponse {
	webhook := target.Webhook
	if !addresses {
		webhook = originOf(webhook)
	}
	status := TargetStatus{
		ID: target.ID(), LastSuccessAt: resource.NilUnlessPositive(state.LastSuccessAt), LastFailureAt: resource.NilUnlessPositive(state.LastFailureAt),
		IsFailing: state.FailingSince > 0, SwitchedOffAt: resource.NilUnlessPositive(state.SwitchedOffAt),
		SwitchedOffReason: state.SwitchedOffReason(),
	}
	return TargetResponse{formOf(target.Type).show(target, webhook, status)}
}

// originOf is the scheme and the host of an address, with the port if it names one.
func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host}).String()
}
