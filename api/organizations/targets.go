package organizations

import (
	"context"
	"encoding/json"
	"net/mail"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/notification"
)

// ActionTarget is a target of an action in a request. The schema accepts any object; targetReader validates it.
type ActionTarget struct{ json.RawMessage }

// Schema is the union of any object and the types of targets, in this order.
func (ActionTarget) Schema(registry huma.Registry) *huma.Schema {
	union := &huma.Schema{AnyOf: []*huma.Schema{{Type: huma.TypeObject, AdditionalProperties: true}}}
	for _, form := range targetForms {
		union.AnyOf = append(union.AnyOf, registry.Schema(form.request, true, ""))
	}
	return union
}

// IgnoredTimes are members of answers. Requests may have them, as clients send answers back, but they are ignored.
type IgnoredTimes struct {
	LastSuccessAt *float64 `json:"last_success_at,omitempty" nullable:"true" doc:"Ignored."`
	LastFailureAt *float64 `json:"last_failure_at,omitempty" nullable:"true" doc:"Ignored."`
}

type targetReader struct {
	validator *validation.Validator
	schemas   map[notification.TargetType]*huma.Schema
}

func newTargetReader() *targetReader {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	reader := &targetReader{validator: validation.NewValidator(registry), schemas: map[notification.TargetType]*huma.Schema{}}
	for _, form := range targetForms {
		reader.schemas[form.kind] = registry.Schema(form.request, false, "")
	}
	return reader
}

// readAll reads targets in their order. Faults are added to found.
func (r *targetReader) readAll(sent []ActionTarget, found validation.Findings) []notification.Target {
	targets := make([]notification.Target, 0, len(sent))
	for i := range sent {
		targets = append(targets, r.read(sent[i].RawMessage, "targets["+strconv.Itoa(i)+"]", found))
	}
	return targets
}

// read reads a target, which is an object. It ignores null members, and members that the type does not have, because
// clients may send back answers, which have more members.
func (r *targetReader) read(raw json.RawMessage, at string, found validation.Findings) notification.Target {
	parsed, _ := validation.ParseJSON(raw, at, found)
	sent, _ := parsed.(map[string]any)
	kind := typeOf(sent)
	name, _ := kind.(string)
	schema, ok := r.schemas[notification.TargetType(name)]
	if !ok {
		types := resource.Map(targetForms, func(form *targetForm) any { return string(form.kind) })
		found.Add(at+".type", "Input should be "+validation.ShowChoices(types), kind)
		return notification.Target{}
	}
	known := map[string]any{"type": kind}
	for name := range schema.Properties {
		if value := sent[name]; value != nil && name != "last_success_at" && name != "last_failure_at" {
			known[name] = value
		}
	}
	target := validation.DecodeParsed[notification.Target](r.validator, schema, known, at, found)
	if target == nil {
		return notification.Target{}
	}
	checkAddresses(target, at, found)
	return *target
}

// typeOf returns the type that was sent. Without one, it derives the type from the other members.
func typeOf(sent map[string]any) any {
	switch {
	case sent["type"] != nil:
		return sent["type"]
	case sent["emails"] != nil:
		return string(notification.Email)
	case sent["context"] != nil:
		return string(notification.Slack)
	}
	return string(notification.Webhook)
}

func checkAddresses(target *notification.Target, at string, found validation.Findings) {
	if !target.Type.Channel().ByMail && !isWebhook(target.Webhook) {
		found.Add(at+".webhook", "Input should be an http or https URL with a host", target.Webhook)
	}
	for i, address := range target.Emails {
		if !isMailbox(address) {
			found.Add(at+".emails["+strconv.Itoa(i)+"]", "Input should be an e-mail address without a display name", address)
		}
	}
}

// isWebhook reports whether a text is an http or https URL with a host and a valid port.
func isWebhook(text string) bool {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" {
		return false
	}
	if parsed.Port() == "" {
		return true
	}
	port, err := strconv.ParseUint(parsed.Port(), 10, 16)
	return err == nil && port > 0
}

// isMailbox reports whether a text is an e-mail address without a display name and without control characters, which
// could inject lines into SMTP.
func isMailbox(text string) bool {
	parsed, err := mail.ParseAddress(text)
	return err == nil && parsed.Name == "" && parsed.Address == text && !strings.ContainsFunc(text, unicode.IsControl)
}

// targetForm has the types of a kind of target in requests and answers.
type targetForm struct {
	kind            notification.TargetType
	request, answer reflect.Type
	// show makes the answer. webhook is the part of the address that the principal may see.
	show func(target *notification.Target, webhook string, status TargetStatus) any
}

// targetForms has all kinds of targets, in the order of the API's schemas.
var targetForms = []targetForm{
	{notification.Slack, reflect.TypeFor[SlackActionTarget](), reflect.TypeFor[SlackTargetResponse](), showSlack},
	{notification.Webhook, reflect.TypeFor[WebhookActionTarget](), reflect.TypeFor[WebhookTargetResponse](), showWebhook},
	{notification.Email, reflect.TypeFor[EmailActionTarget](), reflect.TypeFor[EmailTargetResponse](), showEmail},
}

// formOf returns the form of a kind, Slack's for an unknown one.
func formOf(kind notification.TargetType) targetForm {
	return targetForms[max(0, slices.IndexFunc(targetForms, func(f targetForm) bool { return f.kind == kind }))]
}

// SlackActionTarget is an incoming webhook of Slack, or of a chat service with the same format.
type SlackActionTarget struct {
	Type    string                           `json:"type,omitempty" enum:"SLACK" default:"SLACK"`
	Webhook string                           `json:"webhook" maxLength:"2048" format:"uri"`
	Context resource.OrNull[SlackAppContext] `json:"context,omitempty"`
	IgnoredTimes
}

// SlackAppContext is the channel that an incoming webhook of Slack posts to.
type SlackAppContext struct {
	ChannelID   string `json:"channel_id" maxLength:"255"`
	ChannelName string `json:"channel_name" maxLength:"255"`
	TeamID      string `json:"team_id" maxLength:"255"`
}

// WebhookActionTarget is an address that JSON is posted to (docs/semantics.md 20.4).
type WebhookActionTarget struct {
	Type           string `json:"type,omitempty" enum:"WEBHOOK" default:"WEBHOOK"`
	Webhook        string `json:"webhook" maxLength:"2048" format:"uri"`
	PayloadVersion string `json:"payload_version,omitempty" enum:"1.0" default:"1.0"`
	IgnoredTimes
}

// EmailActionTarget are addresses that e-mails are sent to.
type EmailActionTarget struct {
	Type   string   `json:"type,omitempty" enum:"EMAIL" default:"EMAIL"`
	Emails []string `json:"emails" minItems:"1" maxItems:"50" maxLength:"254" doc:"Addresses without display names."`
	IgnoredTimes
}

// SlackTargetResponse is a target of the type SLACK.
type SlackTargetResponse struct {
	Type    string                                   `json:"type" enum:"SLACK"`
	Webhook string                                   `json:"webhook" doc:"As it was saved; scheme and host alone for roles below member."`
	Context resource.OrNull[SlackAppContextResponse] `json:"context"`
	TargetStatus
}

// SlackAppContextResponse is the channel that an incoming webhook of Slack posts to.
type SlackAppContextResponse notification.SlackContext

// WebhookTargetResponse is a target of the type WEBHOOK.
type WebhookTargetResponse struct {
	Type           string `json:"type" enum:"WEBHOOK"`
	Webhook        string `json:"webhook" doc:"As it was saved; scheme and host alone for roles below member."`
	PayloadVersion string `json:"payload_version" enum:"1.0"`
	TargetStatus
}

// EmailTargetResponse is a target of the type EMAIL.
type EmailTargetResponse struct {
	Type   string   `json:"type" enum:"EMAIL"`
	Emails []string `json:"emails"`
	TargetStatus
}

func showSlack(target *notification.Target, webhook string, status TargetStatus) any {
	shown := SlackTargetResponse{Type: string(target.Type), Webhook: webhook, TargetStatus: status}
	shown.Context.Value = (*SlackAppContextResponse)(target.Context)
	return shown
}

func showWebhook(target *notification.Target, webhook string, status TargetStatus) any {
	return WebhookTargetResponse{
		Type: string(target.Type), Webhook: webhook, PayloadVersion: notification.PayloadVersion, TargetStatus: status,
	}
}

func showEmail(target *notification.Target, _ string, status TargetStatus) any {
	return EmailTargetResponse{Type: string(target.Type), Emails: target.Emails, TargetStatus: status}
}

// TargetResponse is a target of an action in answers.
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

// TargetStatus is the state of a target.
type TargetStatus struct {
	ID                string   `json:"id" doc:"Follows from the type and the addresses: it stays when the action is stored again."`
	LastSuccessAt     *float64 `json:"last_success_at" nullable:"true"`
	LastFailureAt     *float64 `json:"last_failure_at" nullable:"true"`
	IsFailing         bool     `json:"is_failing" doc:"Whether the last attempt failed."`
	SwitchedOffAt     *float64 `json:"switched_off_at" nullable:"true" doc:"Since when the target is told no more, as it failed for long or is gone."`
	SwitchedOffReason string   `json:"switched_off_reason,omitempty" doc:"Why the target is told no more. Absent while it is told."`
}

// seesAddresses reports whether a principal may see the URLs of webhooks, which are secrets of chat services, and the
// answers of webhooks, which may contain them.
func seesAddresses(access evidence.OrgAccess) bool { return access.Role.Allows(evidence.Member) }

// showTarget shows a target. Without addresses, it shows only the origin of a webhook.
func showTarget(target *notification.Target, state *notification.TargetState, addresses bool) TargetResponse {
	webhook := target.Webhook
	if !addresses {
		webhook = originOf(webhook)
	}
	status := TargetStatus{
		ID: target.ID(), LastSuccessAt: resource.NilIfEmpty(state.LastSuccessAt), LastFailureAt: resource.NilIfEmpty(state.LastFailureAt),
		IsFailing: state.FailingSince > 0, SwitchedOffAt: resource.NilIfEmpty(state.SwitchedOffAt),
		SwitchedOffReason: state.SwitchedOffReason(),
	}
	return TargetResponse{formOf(target.Type).show(target, webhook, status)}
}

// originOf returns the scheme and host of an address, with the port if there is one.
func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host}).String()
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

func (h *handlers) rotateTargetSecret(ctx context.Context, in *TargetPath, action notification.Action) (*server.Answer[TargetSecret], error) {
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
