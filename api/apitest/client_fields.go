package apitest

import (
	"slices"
	"strings"
	"testing"
)

// clientFields are the members that the public command-line client reads of each resource (docs/semantics.md 16.3),
// with their JSON types, which are separated by |. A member with a ? may be absent.
var clientFields = map[string][]string{
	"trail": {
		"name string", "description string", "compliance_state string", "last_modified_at number", "origin_url? string|null",
		"git_commit_info? object|null", "compliance_status object", "events array", "is_compliant bool", "created_at number",
		"html_url string", "user_data object|array", "repo_ids array", "template object", "flow object",
	},
	"trail.git_commit_info":   {"sha1 string", "author string", "timestamp number", "message string", "url? string|null"},
	"trail.compliance_status": {"attestations_statuses array", "artifacts_statuses object", "status string"},
	"attestation_status": {
		"attestation_name string", "attestation_id string|null", "status string", "is_compliant bool|null", "unexpected bool",
	},
	"artifact_status": {"status string", "attestations_statuses array", "unexpected bool"},
	"event": {
		"type string", "timestamp number", "git_commit_info object|null", "repo_info object|null",
		"org_id string", "flow_id string", "trail_id string",
	},
	"trails_item": {"name string", "description string", "compliance_state string"},
	"pagination":  {"page number", "page_count number", "total number", "per_page number"},
	"flow": {
		"id string", "name string", "description string", "visibility string", "template string|array", "last_deployment_at? number|null",
		"tags object|null", "org string", "repo_url string|null",
	},
	"flows_item": {
		"name string", "description string", "visibility string", "tags object", "latest_activity_at? number|null", "latest_state? string|null",
	},
	"environment": {
		"name string", "type string", "description string", "state bool|null", "last_reported_at number|null", "tags object", "policies array|null",
	},
	"environments_item": {
		"name string", "type string", "last_reported_at number|null", "last_modified_at number|null", "tags object", "policies array|null",
	},
	"environments": {"environments array", "page number", "per_page number", "total_pages number", "total_count number"},
	"snapshot": {
		"index number", "timestamp number", "type string", "compliant bool", "artifacts array", "is_latest bool",
		"next_snapshot_timestamp number|null", "artifact_compliance_count object", "html_url string", "applied_policies array",
	},
	"snapshot.artifact": {
		"name string", "flow_name string|null", "compliant bool|null", "deployments array", "fingerprint string", "git_commit string|null",
		"commit_url string|null", "creationTimestamp array", "pods object|null", "annotation object", "flows array",
	},
	"snapshot.annotation": {"type string", "was number", "now number"},
	"env_diff":            {"snappish1 object", "snappish2 object", "changed object", "not-changed object"},
	"env_diff.artifact": {
		"fingerprint string", "flow string", "name string", "commit_url? string", "most_recent_timestamp number", "instance_count number",
	},
	"snapshots_item": {"index number", "from number", "to number", "duration number", "compliant bool"},
	"environment_event": {
		"snapshot_index number", "artifact_name string", "sha256 string", "description string", "reported_at number", "pipeline string",
	},
	"artifact": {
		"filename string", "flow_name string", "trail_name? string|null", "template_reference_name? string|null", "fingerprint string",
		"created_at number", "git_commit string", "commit_url string", "build_url string", "html_url string", "state string",
		"running array", "exited array", "history array", "evidence object", "commit_lead_times object", "build_lead_times object",
	},
	"artifacts_item": {"git_commit string", "filename string", "fingerprint string", "state string", "created_at number", "id string", "evidence object"},
	"history":        {"event string", "timestamp number"},
	"attestation": {
		"attestation_id string", "attestation_name string", "attestation_type string", "is_compliant bool", "artifact_fingerprint? string|null",
		"created_at number", "html_url string", "git_commit_info? object|null", "reported_by string", "has_audit_package bool",
		"flow_name string", "trail_name string", "_links object",
	},
	"attestation.git_commit_info": {"sha1 string", "author string", "branch string", "url? string|null", "timestamp number"},
	"attestation_type": {
		"name string", "org string", "description? string", "archived? bool", "created_by? string", "created_at? number",
		"last_modified_at? number", "versions array",
	},
	"attestation_type.version": {
		"version number", "timestamp number", "created_by string", "comment? string", "type_schema? object|null", "evaluator? object|null", "summary? array",
	},
	"applied_policy": {"id string", "name string", "version number", "policy_dump object", "failing_artifacts array"},
	"assert": {
		"fingerprint string", "flow string", "trail string", "compliant bool", "compliance_status object", "html_url string", "scope string",
		"environment string|null", "flows array", "policy_evaluations array", "allow_listing object|null",
	},
	"control": {
		"identifier string", "name string", "description string|null", "version number", "archived bool", "created_by string", "created_at number",
		"tags object", "links object", "policies_referencing array|null",
	},
	"controls":          {"controls array", "page number", "per_page number", "total_pages number", "total_count number"},
	"control_decisions": {"decisions array", "page number", "per_page number", "total_pages number", "total_count number"},
	"control_decision": {
		"control string", "is_compliant bool", "timestamp number", "attestation_name string", "evidence_files array", "control_version number|null",
		"flow_name string|null", "trail_name string|null", "artifact_fingerprint string|null", "artifact_name string|null",
		"description string|null", "origin_url string|null", "user_data object|array",
	},
	"policy": {
		"name string", "description string", "created_by string", "created_at number", "last_modified_at number", "archived bool",
		"consuming_envs array", "versions array", "events array",
	},
	"policy.version": {"version number", "comment string", "timestamp number", "created_by string", "policy_yaml string"},
	"repo":           {"name string", "id string", "url string", "provider string|null", "tags object"},
	"repos":          {"repos array", "page number", "per_page number", "total_pages number", "total_count number"},
	"search": {
		"resolved_to object", "artifacts array",
	},
	"service_account": {"name string", "description string|null", "privilege string", "created_at number"},
	"api_key":         {"id string", "description string", "created_at number", "expires_at number", "last_used_at number|null"},
	"new_api_key":     {"id string", "key string", "description string", "created_at number", "expires_at number"},
	"rotated_api_key": {
		"id string", "key string", "description string", "created_at number", "expires_at number", "grace_period_expires_at number",
	},
	"search.resolved_to": {"type string|null", "full_match string|null", "fingerprints object", "commits object"},
	"search.matches":     {"type string|null", "count number", "matches array"},
	"search.artifact": {
		"fingerprint string", "name string", "flow string", "git_commit string", "has_provenance bool", "commit_url string",
		"build_url string", "html_url string", "compliance_state string", "running_in array", "exited_from array", "history array",
	},
}

// ClientReads fails the test unless a value has the members that the client reads of a resource, in types that it can
// decode.
func ClientReads(t *testing.T, resource string, value any) {
	t.Helper()
	members, ok := value.(map[string]any)
	if !ok {
		t.Errorf("%s: is %s, not an object", resource, jsonType(value))
		return
	}
	table, ok := clientFields[resource]
	if !ok {
		t.Fatalf("no field table for %s", resource)
	}
	for _, line := range table {
		field, types, _ := strings.Cut(line, " ")
		field, optional := strings.CutSuffix(field, "?")
		member, present := members[field]
		switch {
		case !present && !optional:
			t.Errorf("%s: %s is absent: %s", resource, field, AsJSON(value))
		case present && !slices.Contains(strings.Split(types, "|"), jsonType(member)):
			t.Errorf("%s: %s is %s, not %s", resource, field, jsonType(member), types)
		}
	}
}

// ClientReadsEach is ClientReads for the items of a list, which must not be empty.
func ClientReadsEach(t *testing.T, resource string, list any) []any {
	t.Helper()
	items, ok := list.([]any)
	if !ok || len(items) == 0 {
		t.Fatalf("%s: want a list with items, got %s", resource, AsJSON(list))
	}
	for _, item := range items {
		ClientReads(t, resource, item)
	}
	return items
}
