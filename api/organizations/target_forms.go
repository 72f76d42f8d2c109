package organizations

import (
	"reflect"
	"slices"
	"strings"

	"attestry/api/resource"
	"attestry/evidence/notification"
)

// targetForm is how requests and answers tell of a target of a type: a row of targetForms.
type targetForm struct {
	kind            notification.TargetType
	request, answer reflect.Type
	// show makes the answer. webhook is the part of the address that may be seen.
	show func(target *notification.Target, webhook string, status TargetStatus) any
}

// targetForms are those of all types, in the order of the contract.
var targetForms = []targetForm{
	{notification.Slack, reflect.TypeFor[SlackActionTarget](), reflect.TypeFor[SlackTargetResponse](), showSlack},
	{notification.Webhook, reflect.TypeFor[WebhookActionTarget](), reflect.TypeFor[WebhookTargetResponse](), showWebhook},
	{notification.Email, reflect.TypeFor[EmailActionTarget](), reflect.TypeFor[EmailTargetResponse](), showEmail},
}

// formOf returns the form of a type, that of Slack for an unknown one.
func formOf(kind notification.TargetType) targetForm {
	return targetForms[max(0, slices.IndexFunc(targetForms, func(f targetForm) bool { return f.kind == kind }))]
}

// targetTypeChoices words the types: 'A', 'B' or 'C'.
func targetTypeChoices() string {
	var quoted []string
	for _, form := range targetForms {
		quoted = append(quoted, "'"+string(form.kind)+"'")
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// SlackActionTarget is an incoming webhook of Slack, or of a chat service that takes the same.
type SlackActionTarget struct {
	Type    string                           `json:"type" enum:"SLACK"`
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
	Type           string `json:"type" enum:"WEBHOOK"`
	Webhook        string `json:"webhook" maxLength:"2048" format:"uri"`
	PayloadVersion string `json:"payload_version,omitempty" enum:"1.0" default:"1.0"`
	IgnoredTimes
}

// EmailActionTarget are addresses that e-mails are sent to.
type EmailActionTarget struct {
	Type   string   `json:"type" enum:"EMAIL"`
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
type SlackAppContextResponse struct {
	ChannelID   string `json:"channel_id"`
	ChannelName string `json:"channel_name"`
	TeamID      string `json:"team_id"`
}

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
	if target.Context != nil {
		shown.Context.Value = new(SlackAppContextResponse(*target.Context))
	}
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
