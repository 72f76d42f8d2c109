package webhooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/identity"
)

const (
	flagReporter = "launch-darkly-webhook"
	// flagFlowPrefix is the prefix of the flow names for LaunchDarkly's environments.
	flagFlowPrefix = "launch-darkly-"
	// maxFlagEnvironments bounds the flows that one request can create.
	maxFlagEnvironments = 100
)

type launchDarklyInput struct {
	UID       string        `path:"hook_uid" doc:"The secret part of the address."`
	Signature string        `header:"X-LD-Signature" doc:"HMAC-SHA256 of the body with the secret of the webhook, in hex."`
	hook      identity.Hook // set after the signature was verified
}

// LaunchDarklyWebhookInput is an entry of LaunchDarkly's audit log. Other members are stored, too.
type LaunchDarklyWebhookInput struct {
	_           struct{}                            `json:"-" additionalProperties:"true"`
	Kind        string                              `json:"kind" doc:"What was changed; only a flag is recorded."`
	Name        string                              `json:"name" doc:"Name of what was changed."`
	Description *string                             `json:"description,omitempty" nullable:"true" doc:"What was changed of it."`
	Target      resource.OrNull[LaunchDarklyTarget] `json:"target,omitempty"`
	raw         json.RawMessage
}

// LaunchDarklyTarget has the resources that were changed.
type LaunchDarklyTarget struct {
	_         struct{} `json:"-" additionalProperties:"true"`
	Resources []string `json:"resources,omitempty" nullable:"true" doc:"Such as proj/default:env/production:flag/new-checkout."`
}

// UnmarshalJSON decodes the members of the struct and keeps the whole JSON.
func (in *LaunchDarklyWebhookInput) UnmarshalJSON(data []byte) error {
	type plain LaunchDarklyWebhookInput
	in.raw = bytes.Clone(data)
	return json.Unmarshal(data, (*plain)(in))
}

func (h *handlers) verifyLaunchDarkly(ctx context.Context, in *launchDarklyInput, body []byte) (err error) {
	in.hook, err = h.verifyHook(ctx, identity.LaunchDarklyHook, in.UID, in.Signature, body)
	return err
}

// recordFlag begins or changes the trail of a flag in the flow of each environment in which the flag was changed. Other
// changes are accepted and not recorded, because LaunchDarkly may send them, too (docs/semantics.md 19.3).
func (h *handlers) recordFlag(ctx context.Context, in *launchDarklyInput, body *LaunchDarklyWebhookInput) (*server.TextAnswer, error) {
	flows, trail, err := body.target()
	if err != nil {
		return nil, err
	}
	for _, flow := range flows {
		if err := h.beginFlag(ctx, &in.hook, flow, trail, body); err != nil {
			return nil, err
		}
	}
	return server.OK(), nil
}

func (h *handlers) beginFlag(ctx context.Context, hook *identity.Hook, flowName, trail string, body *LaunchDarklyWebhookInput) error {
	scope := recording.Scope{
		Org: hook.OrgID, OrgName: hook.OrgName, Flow: flowName, Trail: trail, By: flagReporter, At: evidence.Seconds(h.Clock()),
	}
	flow, err := h.Flows.Ensure(ctx, scope.Org, scope.Flow, scope.By, scope.At)
	if err != nil {
		return err
	}
	_, err = h.Recorder.Begin(ctx, scope, flow, evidence.TrailChange{Description: new(evidence.ZeroIfNil(body.Description)), UserData: body.raw}, nil)
	return err
}

// target returns the flows and the trail in which the change of a flag is recorded. Other changes have no flows.
func (in *LaunchDarklyWebhookInput) target() (flows []string, trail string, err error) {
	if in.Kind != "flag" {
		return nil, "", nil
	}
	var key string
	for _, changed := range evidence.ZeroIfNil(in.Target.Value).Resources {
		parts := resourceParts(changed)
		if environment := nameFrom(parts["env"]); environment != "" && parts["flag"] != "" {
			flows = append(flows, flagFlowPrefix+environment)
			key = cmp.Or(key, parts["flag"])
		}
	}
	flows = resource.SortUnique(flows)
	trail = cmp.Or(nameFrom(in.Name), nameFrom(key))
	if len(flows) == 0 {
		return nil, trail, nil
	}
	found := validation.Findings{}
	if len(flows) > maxFlagEnvironments {
		found.Add("target.resources", fmt.Sprintf("There should be at most %d environments", maxFlagEnvironments), len(flows))
	}
	for _, flow := range flows {
		checkName(found, "target.resources", namePattern, flow)
	}
	checkName(found, "name", namePattern, trail)
	return flows, trail, validation.Invalid(found)
}

// resourceParts splits a resource of LaunchDarkly, such as proj/default;tag:env/production:flag/new-checkout, into
// names by kind, without tags. Names with a wildcard are left out.
func resourceParts(resource string) map[string]string {
	parts := map[string]string{}
	for part := range strings.SplitSeq(resource, ":") {
		part, _, _ = strings.Cut(part, ";")
		if kind, name, ok := strings.Cut(part, "/"); ok && !strings.Contains(name, "*") {
			parts[kind] = name
		}
	}
	return parts
}
