package config

import (
	"regexp"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"attestry/evidence"
	"attestry/evidence/identity"
)

var (
	// hookUID matches a segment of a URL that needs no escapes.
	hookUID      = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)
	flowNamePart = regexp.MustCompile(`^[a-zA-Z0-9._~-]*$`)
)

func (r *bootstrapReader) hook(node *yaml.Node) identity.DeclaredHook {
	fields := r.mapping(node, "kind", "uid", "secret", "flow_prefix", "flow_suffix")
	if fields == nil {
		return identity.DeclaredHook{}
	}
	for _, name := range []string{"kind", "uid", "secret"} {
		if fields[name] == nil {
			r.fault(node, "webhook lacks a %s", name)
		}
	}
	hook := identity.DeclaredHook{
		Kind: r.hookKind(fields["kind"]), UID: r.hookUID(fields["uid"]), Secret: r.hookSecret(fields["secret"]),
		FlowPrefix: r.flowNamePart(fields["flow_prefix"]), FlowSuffix: r.flowNamePart(fields["flow_suffix"]),
	}
	if hook.Kind == identity.LaunchDarklyHook && (fields["flow_prefix"] != nil || fields["flow_suffix"] != nil) {
		r.fault(node, "flow_prefix and flow_suffix are only for webhooks of the kind sonar")
	}
	return hook
}

func (r *bootstrapReader) hookKind(node *yaml.Node) identity.HookKind {
	text, ok := r.text(node)
	kind := identity.HookKind(text)
	if ok && kind != identity.SonarHook && kind != identity.LaunchDarklyHook {
		r.fault(node, "kind must be sonar or launch-darkly")
	}
	return kind
}

func (r *bootstrapReader) hookUID(node *yaml.Node) evidence.Secret {
	uid := r.hookSecret(node)
	line, known := r.hooks[uid]
	switch {
	case uid == "":
	case !hookUID.MatchString(uid.Reveal()):
		r.fault(node, "uid must hold only letters, digits, '-' and '_'")
	case known:
		r.fault(node, "uid is that of line %d: each can be given only once", line)
	default:
		r.hooks[uid] = lineOf(node)
	}
	return uid
}

// hookSecret reads the uid or the secret of a webhook.
func (r *bootstrapReader) hookSecret(node *yaml.Node) evidence.Secret {
	text, ok := r.text(node)
	switch {
	case !ok:
	case strings.ContainsFunc(text, unicode.IsControl):
		r.fault(node, "must hold no control characters")
	case len(text) < identity.MinHookSecret || len(text) > identity.MaxHookSecret:
		r.fault(node, "must have %d to %d bytes", identity.MinHookSecret, identity.MaxHookSecret)
	default:
		return evidence.Secret(text)
	}
	return ""
}

func (r *bootstrapReader) flowNamePart(node *yaml.Node) string {
	text, ok := r.text(node)
	if ok && (!flowNamePart.MatchString(text) || len(text) > evidence.MaxNameLength) {
		r.fault(node, "must have at most %d letters, digits, '-', '_', '.' and '~'", evidence.MaxNameLength)
	}
	return text
}
