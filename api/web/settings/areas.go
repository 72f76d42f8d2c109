package settings

import (
	"slices"

	"attestry/api/web/view"
)

// area is a part of the settings: what there is of a kind, and the forms that change it. All of it are operations of the API
// by their ids.
type area struct {
	Name, Title string
	// list reads what there is, and columns are the members that the table shows.
	list    string
	columns []string
	// forms are those of the area, and rowForms those of each row.
	forms, rowForms []string
	// csv sends the list as a file, "" if nothing does.
	csv string
	// opens is the area that a row leads to, "" for none. page is the page instead, nil for none.
	opens string
	page  func(org string, of row) string
}

// areas are all parts of the settings. The index lists those that no row leads to.
var areas = []area{
	{Name: "members", Title: "Members", list: "list_members", columns: []string{"user", "role", "created_at"},
		forms: []string{"put_member"}, rowForms: []string{"put_member", "delete_member"}},
	{Name: "invitations", Title: "Invitations", list: "list_invitations", columns: []string{"role", "description", "created_by", "created_at", "expires_at"},
		forms: []string{"create_invitation"}, rowForms: []string{"delete_invitation"}},
	{Name: "service-accounts", Title: "Service accounts", list: "list_service_accounts", columns: []string{"name", "privilege", "description", "created_at", "left_by_creator"},
		forms: []string{"create_service_account"}, rowForms: []string{"update_service_account", "delete_service_account"}, opens: "keys"},
	{Name: "keys", Title: "Keys of a service account", list: "list_service_account_api_keys", columns: []string{"description", "id", "created_at", "expires_at", "last_used_at"},
		forms: []string{"create_service_account_api_key"}, rowForms: []string{"rotate_service_account_api_key", "delete_service_account_api_key"}},
	{Name: "own-keys", Title: "Your API keys", list: "list_user_api_keys", columns: []string{"description", "id", "created_at", "expires_at", "last_used_at"},
		forms: []string{"create_user_api_key"}, rowForms: []string{"rotate_user_api_key", "delete_user_api_key"}},
	{Name: "identity-providers", Title: "Identity providers", list: "list_identity_providers", columns: []string{"name", "issuer", "audience", "condition", "privilege"},
		forms: []string{"put_identity_provider"}, rowForms: []string{"put_identity_provider", "try_identity_token", "delete_identity_provider"}},
	{Name: "environments", Title: "Environments", list: "list_envs", columns: []string{"name", "type", "description", "policies", "included_environments"},
		forms: []string{"create_env"}, rowForms: []string{"update_env", "attach_policy_to_env", "detach_policy_from_env", "join_physical_to_logical",
			"put_admission_settings", "allow_artifact_for_env", "rename_environment", "archive_env"}},
	{Name: "allow-list", Title: "Allowed artifacts", list: "list_allowlist", columns: []string{"artifact_name", "fingerprint", "environment_name", "user_name", "description", "timestamp", "expires_at"},
		forms: []string{"allow_artifact_for_env"}},
	{Name: "policies", Title: "Policies", list: "list_policies", columns: []string{"name", "type", "description", "last_modified_at"},
		forms: []string{"put_policy"}, rowForms: []string{"put_policy"},
		page: func(org string, of row) string { return view.Pages.Policy(org, of.text("name")) }},
	{Name: "flows", Title: "Flows", list: "get_flows", columns: []string{"name", "description", "visibility"},
		forms: []string{"create_flow", "create_flow_with_template"}, rowForms: []string{"create_flow_with_template", "rename_flow", "archive_flow"}, opens: "approvals"},
	{Name: "approvals", Title: "Approvals of a flow", list: "list_approvals", columns: []string{"release_number", "artifact_name", "state", "approvals", "environment", "description", "created_at"},
		forms: []string{"post_approval"}},
	{Name: "controls", Title: "Controls", list: "list_controls", columns: []string{"identifier", "name", "description", "version", "archived"},
		forms: []string{"post_control"}, rowForms: []string{"put_control", "archive_control", "unarchive_control"},
		page: func(org string, of row) string { return view.Pages.Control(org, of.text("identifier")) }},
	{Name: "attestation-types", Title: "Attestation types", list: "get_custom_attestation_types", columns: []string{"name", "description", "archived", "last_modified_at"},
		forms: []string{"post_custom_attestation_type"}, rowForms: []string{"archive_custom_attestation_type"}},
	{Name: "actions", Title: "Notifications", list: "list_actions", columns: []string{"number", "name", "type", "triggers", "is_failing"},
		forms:    []string{"create_or_update_env_action", "create_or_update_flow_action"},
		rowForms: []string{"test_action", "rotate_target_secret", "delete_action"}, opens: "deliveries"},
	{Name: "deliveries", Title: "Deliveries of a notification", list: "list_deliveries", columns: []string{"description", "event_type", "state", "created_at", "next_attempt_at"},
		rowForms: []string{"redeliver"}},
	{Name: "audits", Title: "Audits", list: "list_audits", columns: []string{"name", "environments", "from", "to", "open", "created_by"},
		forms: []string{"create_audit"}, page: func(org string, of row) string { return view.Pages.Audit(org, of.text("name")) }},
	{Name: "frameworks", Title: "Frameworks", list: "list_frameworks", columns: []string{"name", "version", "created_at", "created_by"},
		forms: []string{"put_framework"}, rowForms: []string{"put_framework"}},
	{Name: "people", Title: "Accounts of people", list: "get_people", columns: []string{"version", "created_at", "created_by", "comment", "content"},
		rowForms: []string{"put_people"}},
	{Name: "audit-log", Title: "Audit log", list: "list_audit_log", columns: []string{"when", "event_type", "kind", "user", "old_role", "new_role", "changed_by", "source"},
		csv: "download_audit_log"},
	{Name: "organization", Title: "Organization", list: "get_organization", columns: []string{"name", "kind", "experimental_features_enabled", "created_at"},
		forms: []string{"update_experimental_features"}},
}

// rowMembers are the members of rows that fill in parameters of another name.
var rowMembers = map[string]string{
	"action_number": "number", "key_id": "id", "delivery_id": "id", "invitation_id": "id", "env_name": "name", "framework_name": "name", "flow_name": "name",
	"custom_attestation_type_name": "name",
	"policy_name":                  "name",
}

// next are the forms that follow others, with the areas that they belong to.
var next = map[string]struct{ area, form string }{"create_service_account": {"keys", "create_service_account_api_key"}}

// readBy are the operations that read what a form changes, where the API has them at another path than the form.
var readBy = map[string]string{"put_policy": "get_policy", "create_flow_with_template": "get_flow"}

// areaNamed returns the area of a name, nil if there is none.
func areaNamed(name string) *area {
	i := slices.IndexFunc(areas, func(one area) bool { return one.Name == name })
	if i < 0 {
		return nil
	}
	return &areas[i]
}

// isOpened reports whether the rows of another area lead to this one.
func (a *area) isOpened() bool {
	return slices.ContainsFunc(areas, func(other area) bool { return other.opens == a.Name })
}
