package organizations

import (
	"encoding/json"
	"net/mail"
	"net/url"
	"strconv"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/validation"
	"attestry/evidence/notification"
)

// ActionTarget is a target of an action as requests tell of it. The contract lets any object
// pass; targetReader says what can be delivered to.
type ActionTarget struct{ json.RawMessage }

// Schema is the union of the contract, in its order.
func (ActionTarget) Schema(registry huma.Registry) *huma.Schema {
	union := &huma.Schema{AnyOf: []*huma.Schema{{Type: huma.TypeObject, AdditionalProperties: true}}}
	for _, form := range targetForms {
		union.AnyOf = append(union.AnyOf, registry.Schema(form.request, true, ""))
	}
	return union
}

// IgnoredTimes are members of answers that requests may repeat.
type IgnoredTimes struct {
	LastSuccessAt *float64 `json:"last_success_at,omitempty" nullable:"true" doc:"Ignored."`
	LastFailureAt *float64 `json:"last_failure_at,omitempty" nullable:"true" doc:"Ignored."`
}

// targetReader reads targets of requests.
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

// readAll reads targets in their order. What cannot be delivered to is a finding.
func (r *targetReader) readAll(sent []ActionTarget, found validation.Findings) []notification.Target {
	targets := make([]notification.Target, 0, len(sent))
	for i := range sent {
		targets = append(targets, r.read(sent[i].RawMessage, "targets["+strconv.Itoa(i)+"]", found))
	}
	return targets
}

// read reads a target, which is an object. Members that its type does not have are ignored,
// as answers have more than requests need, and null ones are taken for absent.
func (r *targetReader) read(raw json.RawMessage, at string, found validation.Findings) notification.Target {
	parsed, _ := validation.ParseJSON(raw, at, found)
	sent, _ := parsed.(map[string]any)
	kind, _ := sent["type"].(string)
	schema, ok := r.schemas[notification.TargetType(kind)]
	switch {
	case sent["type"] == nil:
		found.Add(at+".type", validation.MissingText, nil)
		return notification.Target{}
	case !ok:
		found.Add(at+".type", "Input should be "+targetTypeChoices(), sent["type"])
		return notification.Target{}
	}
	known := map[string]any{}
	for name := range schema.Properties {
		if value := sent[name]; value != nil && name != "last_success_at" && name != "last_failure_at" {
			known[name] = value
		}
	}
	before := len(found)
	known, _ = r.validator.Check(schema, known, at, found).(map[string]any)
	if len(found) > before {
		return notification.Target{}
	}
	target := targetOf(known)
	checkAddresses(&target, at, found)
	return target
}

// targetOf is the target that members describe which fit its schema.
func targetOf(members map[string]any) notification.Target {
	text := func(members map[string]any, name string) string {
		value, _ := members[name].(string)
		return value
	}
	target := notification.Target{Type: notification.TargetType(text(members, "type")), Webhook: text(members, "webhook")}
	emails, _ := members["emails"].([]any)
	for _, email := range emails {
		address, _ := email.(string)
		target.Emails = append(target.Emails, address)
	}
	if channel, ok := members["context"].(map[string]any); ok {
		target.Context = &notification.SlackContext{
			ChannelID: text(channel, "channel_id"), ChannelName: text(channel, "channel_name"), TeamID: text(channel, "team_id"),
		}
	}
	return target
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

// isWebhook reports whether a text is an address that can be posted to.
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

// isMailbox reports whether a text is a mere address: nothing that a mail client would show
// beside it, or a mail server could take for another line.
func isMailbox(text string) bool {
	for _, r := range text {
		if unicode.IsControl(r) {
			return false
		}
	}
	parsed, err := mail.ParseAddress(text)
	return err == nil && parsed.Name == "" && parsed.Address == text
}
