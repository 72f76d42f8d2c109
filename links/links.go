// Package links builds the URLs of pages and of the API.
package links

import (
	"net/url"
	"strconv"
	"strings"
)

// Links builds the URLs of a service (docs/semantics.md 1.1). Base is the scheme and host that clients use, without a
// trailing slash, as config.BaseURL has it.
type Links struct{ Base string }

// API is the base URL of the operations' paths.
func (l Links) API() string { return l.Base + Prefix }

// Organizations is the page on which users choose an organization. No organization can have the name "-".
func (l Links) Organizations() string { return l.page("-", "organizations") }

// Invitation is the page on which a user accepts an invitation.
func (l Links) Invitation(org, secret string) string { return l.page("-", "invitations", org, secret) }

// Organization is the page of an organization.
func (l Links) Organization(org string) string { return l.page(org) }

// Section is a part of the pages of an organization, such as the list of its flows.
func (l Links) Section(org, name string) string { return l.page(org, name) }

// Policy is the page of a policy.
func (l Links) Policy(org, name string) string { return l.page(org, "policies", name) }

// Control is the page of a control.
func (l Links) Control(org, identifier string) string { return l.page(org, "controls", identifier) }

// Environment is the page of an environment.
func (l Links) Environment(org, environment string) string {
	return l.page(org, "environments", environment)
}

// Snapshot is the page of a snapshot.
func (l Links) Snapshot(org, environment string, number int64) string {
	return l.page(org, "environments", environment, "snapshots", strconv.FormatInt(number, 10))
}

// Flow is the page of a flow.
func (l Links) Flow(org, flow string) string { return l.page(org, "flows", flow) }

// Trail is the page of a trail.
func (l Links) Trail(org, flow, trail string) string {
	return l.page(org, "flows", flow, "trails", trail)
}

// Attestation is the page of an attestation on its trail.
func (l Links) Attestation(org, flow, trail, id string) string {
	return l.Trail(org, flow, trail) + "?attestation_id=" + url.QueryEscape(id)
}

// Artifact is the page of an artifact; without an id, of all artifacts with the fingerprint.
func (l Links) Artifact(org, flow, fingerprint, id string) string {
	page := l.page(org, "flows", flow, "artifacts", fingerprint)
	if id == "" {
		return page
	}
	return page + "?artifact_id=" + url.QueryEscape(id)
}

// EnvironmentSelf is the address of an environment in the API.
func (l Links) EnvironmentSelf(org, environment string) string {
	return l.api("environments", org, environment)
}

// DeploymentSelf is the address of an artifact's last deployment to an environment in the API.
func (l Links) DeploymentSelf(org, environment, fingerprint string) string {
	return l.api("deployments", org, environment, fingerprint)
}

// SnapshotSelf is the address of a snapshot in the API.
func (l Links) SnapshotSelf(org, environment string, number int64) string {
	return l.api("snapshots", org, environment, strconv.FormatInt(number, 10))
}

// ArtifactSelf is the address of an artifact in the API.
func (l Links) ArtifactSelf(org, flow, fingerprint string) string {
	return l.api("artifacts", org, flow, "fingerprint", fingerprint)
}

// TrailSelf is the address of a trail in the API.
func (l Links) TrailSelf(org, flow, trail string) string { return l.api("trails", org, flow, trail) }

// AttestationSelf is the address of the attestations of a name on a trail in the API.
func (l Links) AttestationSelf(org, flow, trail, name string) string {
	return l.api("attestations", org, flow, "trail", trail, name)
}

// PolicySelf is the address of a policy in the API.
func (l Links) PolicySelf(org, name string) string { return l.api("policies", org, name) }

// PoliciesSelf identifies several policies of an organization in the API.
func (l Links) PoliciesSelf(org string, names []string) string {
	return l.api("policies", org) + "?" + url.Values{"policy_name": names}.Encode()
}

// FlowSelf is the address of a flow in the API.
func (l Links) FlowSelf(org, flow string) string { return l.api("flows", org, flow) }

// FlowsSelf is the address of all flows in the API.
func (l Links) FlowsSelf(org string) string { return l.api("flows", org) }

// AssertSelf is the API's address of an artifact's compliance, which identifies it in all flows.
func (l Links) AssertSelf(org, fingerprint string) string {
	return l.api("asserts", org, "fingerprint", fingerprint)
}

// ProofSelf is the address of the proof that a fact of a kind is in the transparency log.
func (l Links) ProofSelf(org, kind, id string) string { return l.api("log", org, "proof", kind, id) }

// Audit is the page of an audit.
func (l Links) Audit(org, name string) string { return l.page(org, "audits", name) }

// AuditSelf is the address of an audit in the API.
func (l Links) AuditSelf(org, name string) string { return l.api("audits", org, name) }

// ControlSelf is the address of a control in the API.
func (l Links) ControlSelf(org, identifier string) string { return l.api("controls", org, identifier) }

// Evidence is the address of the file attached to an attestation.
func (l Links) Evidence(org, flow, trail, id string) string {
	return l.api("attestations", org, flow, "trail", trail, "attestation", id, "evidence")
}

// ArtifactPackage is the address of the audit package of an artifact.
func (l Links) ArtifactPackage(org, flow, fingerprint string) string {
	return l.api("artifacts", org, flow, fingerprint, "audit_package")
}

// AttestationPackage is the address of the audit package of an attestation.
func (l Links) AttestationPackage(org, flow, trail, id string) string {
	return l.api("attestations", org, flow, "trail", trail, "attestation", id, "audit_package")
}

// RepoSelf is the address of a repository in the API. The id distinguishes repositories with the same name.
func (l Links) RepoSelf(org, name, id string) string {
	return l.api("repos", org, name) + "?id=" + url.QueryEscape(id)
}

// LiveArtifacts is the address of the running artifacts of a repository in the API.
func (l Links) LiveArtifacts(org, name, id string) string {
	return l.api("repos", org, "live-artifacts", name) + "?id=" + url.QueryEscape(id)
}

func (l Links) api(segments ...string) string {
	return l.page(append([]string{"api", "v2"}, segments...)...)
}

func (l Links) page(segments ...string) string {
	var b strings.Builder
	b.WriteString(l.Base)
	for _, segment := range segments {
		b.WriteString("/" + url.PathEscape(segment))
	}
	return b.String()
}

// Prefix is the path prefix of all operations. The paths of the OpenAPI document are relative to it.
const Prefix = "/api/v2"
