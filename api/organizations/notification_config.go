package organizations

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/storage/notifications"
)

// NotificationConfigPath is the path of the notifications about an organization itself.
type NotificationConfigPath struct {
	server.OrgPath
	Type string `path:"notification_type" enum:"api_key_expiry"`
}

// NotificationConfigInput is the body of put_notification_config (docs/semantics.md 20.7). Other members are ignored, as
// clients send answers back.
type NotificationConfigInput struct {
	_         struct{}        `additionalProperties:"true"`
	Scope     *string         `json:"scope,omitempty" nullable:"true" maxLength:"255" doc:"Stored, without effect."`
	Targets   []ActionTarget  `json:"targets"`
	Detection ExpiryDetection `json:"detection,omitempty" doc:"Members other than days_before are stored, without effect."`
}

// ExpiryDetection says when keys are found to expire. It is any object, or null.
type ExpiryDetection struct{ json.RawMessage }

type expiryDetection struct {
	DaysBefore []int `json:"days_before,omitempty" minItems:"1" maxItems:"30" minimum:"1" maximum:"30" doc:"How many days before their expiry the targets are notified of keys, by default 30, 7 and 1."`
}

// Schema is that of the member that has an effect, with any others.
func (ExpiryDetection) Schema(registry huma.Registry) *huma.Schema {
	schema := huma.SchemaFromType(registry, reflect.TypeFor[expiryDetection]())
	schema.AdditionalProperties, schema.Nullable = true, true
	return schema
}

// NotificationConfig is a configuration in answers. Without one, there are no targets.
type NotificationConfig struct {
	Type           string                               `json:"notification_type" enum:"api_key_expiry"`
	Scope          *string                              `json:"scope" nullable:"true"`
	Targets        []TargetResponse                     `json:"targets"`
	Detection      json.RawMessage                      `json:"detection"`
	LastNotifiedAt *float64                             `json:"last_notified_at" nullable:"true" doc:"Of all targets, Unix seconds."`
	LastFailure    resource.OrNull[NotificationFailure] `json:"last_failure"`
	Number         *int64                               `json:"action_number" nullable:"true" doc:"For the operations on deliveries, tests and secrets of actions; null if nothing is configured."`
}

// NotificationFailure is the last failed attempt to notify a target.
type NotificationFailure struct {
	FailedAt float64 `json:"failed_at" doc:"Unix seconds."`
	Error    string  `json:"error"`
}

func (h *handlers) getNotificationConfig(ctx context.Context, in *NotificationConfigPath) (*server.Answer[NotificationConfig], error) {
	access := server.Access(ctx)
	shown := NotificationConfig{Type: in.Type, Targets: []TargetResponse{}, Detection: resource.ObjectIfNil(nil)}
	all, err := h.Actions.Of(ctx, access.OrgID)
	action, ok := all.Named(notification.KeyExpiryName)
	if err != nil || !ok {
		return server.Answered(shown), err
	}
	states, err := h.Targets.States(ctx, access.OrgID, action)
	var health notification.Health
	for i := range action.Targets {
		state := states[notifications.TargetKey{Action: action.Number, Target: action.Targets[i].ID()}]
		health.Add(&state)
		shown.Targets = append(shown.Targets, showTarget(&action.Targets[i], &state, seesAddresses(access)))
	}
	shown.Scope, shown.Detection = action.KeyExpiry.Scope, resource.ObjectIfNil(action.KeyExpiry.Detection)
	shown.LastNotifiedAt, shown.Number = resource.NilIfEmpty(health.LastSuccessAt), &action.Number
	if health.LastFailureAt > 0 {
		shown.LastFailure.Value = &NotificationFailure{health.LastFailureAt, health.LastFailure}
	}
	return server.Answered(shown), err
}

func (h *handlers) putNotificationConfig(ctx context.Context, in *NotificationConfigPath, body *NotificationConfigInput) (*server.Answer[NotificationConfig], error) {
	found, now := validation.Findings{}, evidence.Seconds(h.Clock())
	action := notification.Action{
		Name: notification.KeyExpiryName, Kind: notification.OfKeys, CreatedBy: server.Principal(ctx).Name, CreatedAt: now, LastModifiedAt: now,
		Subjects: []string{server.Access(ctx).OrgID}, Triggers: []notification.Trigger{notification.KeyExpires},
		Targets:   h.targets.readAll(body.Targets, found),
		KeyExpiry: &notification.KeyExpiry{Scope: body.Scope, Detection: resource.Present(body.Detection.RawMessage)},
	}
	err := validation.Invalid(found)
	if err == nil {
		_, err = h.putAction(ctx, action)
	}
	if err != nil {
		return nil, err
	}
	return h.getNotificationConfig(ctx, in)
}

func (h *handlers) deleteNotificationConfig(ctx context.Context, _ *NotificationConfigPath) (*server.TextAnswer, error) {
	all, err := h.Actions.Of(ctx, server.Access(ctx).OrgID)
	action, ok := all.Named(notification.KeyExpiryName)
	if err != nil || !ok {
		return server.OK(), err
	}
	return h.removeAction(ctx, action.Number, notification.OfKeys)
}
