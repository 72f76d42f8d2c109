package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/openapi"
	"attestry/api/apitest/webclient"
	"attestry/api/examples"
	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/links"
	"attestry/scripts/readmetest"
)

// exampleOrder is the order in which the examples of the document are sent. Later ones use what earlier ones create.
var exampleOrder = []string{
	"flow_template_schema_v1", "environment_policy_schema_v1", "list_system_attestation_types",
	"get_organization", "put_user_default_org", "get_user_default_org",
	"post_custom_attestation_type", "get_custom_attestation_types", "get_custom_attestation_type",
	"create_flow_with_template", "get_flow", "create_flow", "get_flows", "rename_flow", "archive_flow",
	"create_trail", "post_pull_request_attestation", "post_junit_attestation", "create_artifact", "post_snyk_attestation",
	"post_custom_attestation", "post_override_attestation",
	"get_trail_attestation", "get_artifact_attestation", "get_attestations", "list_attestations_for_criteria",
	"get_flow_attestations", "get_attestation_evidence", "get_trail",
	"post_control", "get_control", "put_control",
	"post_generic_attestation", "post_jira_attestation", "post_sonar_attestation", "post_system_attestation",
	"create_env", "k8s_report", "patch_tags", "get_environment", "update_env", "list_envs",
	"allow_artifact_for_env", "list_allowlist",
	"list_snapshots", "get_snapshot", "environment_diff", "get_env_events", "get_env_auditlog",
	"list_deployments", "get_deployment", "list_env_deployments", "get_deployment_frequency",
	"list_repos", "list_repo_filter_options", "list_repo_tag_choices", "get_repo", "get_repo_live_artifacts",
	"list_repo_deployments", "get_repo_deployment_statistics", "list_builds", "build_statistics", "get_search",
	"list_trails_for_org", "list_trails", "list_artifacts", "list_flow_artifacts",
	"get_artifact_by_fingerprint", "get_artifact_by_commit_sha", "get_latest_artifact_commit",
	"ecs_report", "s3_report", "azure_apps_report", "cloud_run_report", "docker_report", "lambda_report", "serverless_report", "server_report",
	"join_physical_to_logical", "rename_environment", "archive_env", "archive_custom_attestation_type",
	"put_policy", "put_named_policy", "get_policy", "evaluate_policy", "attach_policy_to_env", "list_policies", "assert_artifact", "explain_artifact",
	"list_control_tag_choices", "list_controls", "list_control_versions", "get_control_version", "archive_control", "unarchive_control",
	"get_control_coverage", "list_control_decisions", "get_control_decision", "detach_policy_from_env",
	"post_approval", "list_approvals", "get_approval", "list_artifact_approvals", "get_commit_of_running_artifact",
	"sonar_webhook", "launch_darkly_webhook", "update_experimental_features",
	"create_organization", "put_member", "get_member", "list_members", "delete_member", "create_service_account", "list_service_accounts",
	"get_service_account", "update_service_account", "create_service_account_api_key", "list_service_account_api_keys", "get_service_account_api_key",
	"rotate_service_account_api_key", "delete_service_account_api_key", "delete_service_account", "put_identity_provider", "list_identity_providers",
	"get_identity_provider", "try_identity_token", "delete_identity_provider", "create_user_api_key", "list_user_api_keys", "get_user_api_key", "rotate_user_api_key",
	"delete_user_api_key", "list_audit_log",
	"create_or_update_env_action", "create_or_update_flow_action", "list_actions", "get_action",
	"put_environment_notifications", "get_environment_notifications", "update_environment_notification", "get_environment_notification",
	"list_deliveries", "redeliver", "rotate_target_secret", "test_action", "delete_environment_notification", "delete_action",
	"assemble_trail_audit_package", "download_trail_audit_package", "assemble_trail_audit_pdf", "download_trail_audit_pdf",
	"assemble_artifact_audit_package", "get_audit_package", "assemble_attestation_audit_package", "download_attestation_audit_package",
	"get_log", "get_log_checkpoint", "get_log_tile", "list_log_entries", "get_log_proof",
	"sign_verdict", "get_signing_key",
	"create_invitation", "list_invitations", "accept_invitation", "delete_invitation",
	"put_admission_settings", "get_admission_settings", "validate_admission", "review_images", "provide_to_gatekeeper", "list_admissions",
	"download_audit_log",
	"create_audit", "list_audits", "get_audit", "list_audit_population", "download_audit_population", "draw_audit_sample", "get_audit_totals", "assemble_audit_bundle", "download_audit_bundle",
	"put_framework", "list_frameworks", "get_framework", "assess_audit", "download_audit_assessment",
	"put_people", "get_people",
	"put_notification_config", "get_notification_config", "delete_notification_config",
}

// prepareExample creates what an example needs and no example before it creates.
func prepareExample(s *apitest.Service, operation string) {
	switch operation {
	case "k8s_report":
		// The state that the example replaces.
		s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/production/report/K8S", []byte(`{"artifacts":[{"digests":
			{"registry.example.com/checkout/api:1.9.0":"0abb3136559bf13f2b324a0255d0feee0ab7d75da98063bed6dada3d1a18bba1"},
			"podName":"api-6d8c7b9f4-k9m2p","namespace":"shop","creationTimestamp":1793520000,"owners":null}]}`))
		s.Clock.Advance(time.Minute)
	case "ecs_report":
		s.CreateEnvironment("production-ecs", evidence.ECS)
	case "s3_report":
		s.CreateEnvironment("production-s3", evidence.S3)
	case "azure_apps_report":
		s.CreateEnvironment("production-azure", evidence.AzureApps)
	case "cloud_run_report":
		s.CreateEnvironment("production-run", evidence.CloudRun)
	case "docker_report":
		s.CreateEnvironment("production-docker", evidence.Docker)
	case "lambda_report":
		s.CreateEnvironment("production-lambda", evidence.Lambda)
	case "server_report":
		s.CreateEnvironment("production-server", evidence.Server)
	case "join_physical_to_logical":
		s.CreateEnvironment("all-production", evidence.LogicalType)
	case "rename_environment":
		s.CreateEnvironment("staging", evidence.K8S)
	case "list_control_tag_choices":
		s.Want(http.StatusOK, http.MethodPatch, s.TagsPath()+"/control/RISK-REVIEW", []byte(`{"set_tags":{"framework":"soc2","team":"payments"}}`))
	case "archive_control":
		s.CreateControl("OLD-REVIEW")
	case "list_deliveries":
		addDelivered(s)
	case "assemble_audit_bundle":
		s.Want(http.StatusCreated, http.MethodPost, s.AuditsPath(), []byte(`{"name":"week-45","environments":["production"],"from":"2026-11-02T09:38:00Z","to":"2026-11-02T09:39:00Z"}`))
	case "assemble_trail_audit_package", "get_log":
		s.AwaitLogged(s.Org)
	}
}

// addDelivered adds a successful delivery to the first target of the first action.
func addDelivered(s *apitest.Service) {
	s.T.Helper()
	at := evidence.Seconds(s.Clock.Read())
	actions, err := s.Process.Store.Actions.Of(s.T.Context(), s.OrgID())
	s.Must(err)
	delivery := notification.NewDelivery(s.OrgID(), 1, &actions.All[0].Targets[0], notification.Notice{
		ID: evidence.NewID(), EventType: notification.EventNonCompliant, Description: "Environment production is not compliant any more",
	}, at, 0)
	delivery.Begin(at)
	delivery.End(delivery.Until, notification.Attempt{At: at, Duration: 0.125, Status: http.StatusNoContent}, 0)
	s.Must(s.Process.Store.Deliveries.Add(s.T.Context(), []notification.Delivery{delivery}))
}

// Examples show these in place of the address of the service, keys and signing secrets.
const (
	exampleBase   = "https://attestry.example.com"
	exampleKey    = "att_..."
	exampleSecret = "whsec_..."
)

// TestExamplesAreWhatTheServiceAnswers sends the examples of the OpenAPI document and compares the answers. With
// ATTESTRY_TEST_UPDATE set it writes the answers instead. It also requests every address of the service in an answer.
func TestExamplesAreWhatTheServiceAnswers(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{StoppedAt: time.Unix(1_793_610_000, 500_000_000), Settings: []string{apitest.NewSigningKey(t), apitest.LogKeyFile(t)}})
	written, err := examples.All()
	s.Must(err)
	p := &examplePlayer{Service: s, visitor: webclient.SignedIn(s, apitest.ReaderKey), actual: map[string]string{}, answers: map[string]json.RawMessage{}}
	for _, operation := range exampleOrder {
		example, ok := written[operation]
		if !ok {
			t.Errorf("%s has no example", operation)
			continue
		}
		prepareExample(s, operation)
		p.exchangeExample(example)
		s.Clock.Advance(time.Minute)
	}
	for operation := range written {
		if !slices.Contains(exampleOrder, operation) {
			t.Errorf("the example of %s is not sent", operation)
		}
	}
	p.wantClientReads()
	if readmetest.Updating() {
		if !t.Failed() {
			p.write()
		}
		return
	}
	for _, operation := range exampleOrder {
		t.Run(operation, func(t *testing.T) {
			want, got := compactJSON(t, written[operation].Answer), compactJSON(t, p.answers[operation])
			apitest.Equal(t, want, got)
		})
	}
}

// examplePlayer sends the examples and keeps the answers, with the same ids, times and addresses in every run.
type examplePlayer struct {
	*apitest.Service
	visitor *webclient.Visitor
	actual  map[string]string // actual ids by the ids that the examples show
	answers map[string]json.RawMessage
}

// wantClientReads checks answers that no other test reads as the command-line client does.
func (p *examplePlayer) wantClientReads() {
	p.T.Helper()
	answer := func(operation string, members ...any) (value any) {
		p.Must(json.Unmarshal(p.answers[operation], &value))
		return apitest.Lookup(p.T, value, members...)
	}
	apitest.ClientReads(p.T, "flow", answer("get_flow"))
	apitest.ClientReadsEach(p.T, "flows_item", answer("get_flows"))
	apitest.ClientReadsEach(p.T, "trails_item", answer("list_trails_for_org", "data"))
	apitest.ClientReadsEach(p.T, "trails_item", answer("list_trails"))
	for _, kind := range []any{answer("get_custom_attestation_type"), answer("get_custom_attestation_types", 0)} {
		apitest.ClientReads(p.T, "attestation_type", kind)
		apitest.ClientReadsEach(p.T, "attestation_type.version", apitest.Lookup(p.T, kind, "versions"))
	}
}

// binaryMedia are the media types of answers that are not text.
var binaryMedia = map[string]bool{"application/gzip": true, "application/pdf": true, "application/octet-stream": true}

func (p *examplePlayer) exchangeExample(example examples.Example) {
	p.T.Helper()
	method, path := p.addressOf(example)
	if example.Operation == "accept_invitation" {
		example.Request = p.inviteAdmin()
	}
	got := p.request(method, path, apitest.AdminKey, example.Request)
	if got.Status > http.StatusCreated {
		p.T.Errorf("%s: %s %s answers %d: %s", example.Operation, method, path, got.Status, got.Body)
		return
	}
	p.follow(example.Operation, got.Body)
	answer := p.steady(string(got.Body))
	if binaryMedia[example.Media] {
		answer = "(the content of the file)"
	}
	if example.Media != "" {
		text, err := json.Marshal(answer)
		p.Must(err)
		answer = string(text)
	}
	p.answers[example.Operation] = json.RawMessage(answer)
}

// inviteAdmin invites the administrator to another user's organization and returns the request that accepts.
func (p *examplePlayer) inviteAdmin() json.RawMessage {
	p.T.Helper()
	if got := p.Do(http.MethodPost, "/api/v2/organizations", apitest.ReaderKey, []byte(`{"name":"platform"}`)); got.Status != http.StatusCreated {
		p.T.Fatalf("status %d: %s", got.Status, got.Body)
	}
	got := p.Do(http.MethodPost, "/api/v2/organizations/platform/invitations", apitest.ReaderKey, []byte(`{"role":"member"}`))
	_, secret := apitest.InvitationOf(p.T, got)
	return fmt.Appendf(nil, `{"secret":%q}`, secret)
}

// addressOf returns the method of an operation and its path with the parameters of the example.
func (p *examplePlayer) addressOf(example examples.Example) (method, path string) {
	p.T.Helper()
	at := slices.IndexFunc(p.API.Operations, func(o openapi.Operation) bool { return o.Content["operationId"] == example.Operation })
	if at < 0 {
		p.T.Fatalf("the document has no %s", example.Operation)
	}
	described := p.API.Operations[at]
	path = "/api/v2" + described.Path
	query := url.Values{}
	for name, raw := range example.Parameters {
		values := p.valuesOf(raw)
		if placeholder := "{" + name + "}"; strings.Contains(path, placeholder) {
			path = strings.ReplaceAll(path, placeholder, url.PathEscape(values[0]))
		} else {
			query[name] = values
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return described.Method, path
}

// valuesOf reads a parameter: a value or a list of them.
func (p *examplePlayer) valuesOf(raw json.RawMessage) []string {
	p.T.Helper()
	var list []any
	if json.Unmarshal(raw, &list) != nil {
		list = make([]any, 1)
		p.Must(json.Unmarshal(raw, &list[0]))
	}
	var values []string
	for _, value := range list {
		values = append(values, apitest.ChangingID.ReplaceAllStringFunc(fmt.Sprint(value), func(id string) string {
			return cmp.Or(p.actual[id], id)
		}))
	}
	return values
}

// formData are the names of the JSON parts of forms.
var formData = []string{"data_json", "payload"}

// request sends a body as JSON or, if it has a member of formData, as a form. Webhooks are signed.
func (p *examplePlayer) request(method, path, key string, body json.RawMessage) apitest.Answer {
	p.T.Helper()
	if uid, ok := strings.CutPrefix(path, "/api/v2/webhooks/"); ok {
		kind, uid, _ := strings.Cut(uid, "/")
		return p.Deliver(kind, uid, apitest.SignHook(body), body)
	}
	var form map[string]json.RawMessage
	at := -1
	if json.Unmarshal(body, &form) == nil {
		at = slices.IndexFunc(formData, func(name string) bool { return form[name] != nil })
	}
	if at < 0 {
		return p.Do(method, path, key, body)
	}
	data := formData[at]
	var files []apitest.Part
	for name, content := range form {
		if name == data {
			continue
		}
		var text string
		p.Must(json.Unmarshal(content, &text))
		files = append(files, apitest.Part{Field: name, Filename: name, ContentType: "application/octet-stream", Content: []byte(text)})
	}
	return p.Form(method, strings.TrimPrefix(path, "/api/v2"), key, data, string(form[data]), files...)
}

const apiPrefix = links.Prefix + "/"

// follow gets every address of the service in an answer: operations with the administrator's key, pages as a signed-in
// reader.
func (p *examplePlayer) follow(operation string, body []byte) {
	p.T.Helper()
	for _, link := range regexp.MustCompile(`"`+regexp.QuoteMeta(p.URL)+`(/[^"]*)"`).FindAllSubmatch(body, -1) {
		page := strings.ReplaceAll(string(link[1]), `\u0026`, "&")
		if strings.HasPrefix(page, apiPrefix) {
			continue
		}
		if got := p.visitor.Open(page); got.Status != http.StatusOK {
			p.T.Errorf("%s answers with the page %s, which answers %d: %s", operation, page, got.Status, got.Body)
		}
	}
	for _, link := range regexp.MustCompile(regexp.QuoteMeta(p.URL+apiPrefix)+`[^"\\,\s]+`).FindAll(body, -1) {
		path := strings.TrimPrefix(string(link), p.URL)
		if got := p.Do(http.MethodGet, path, apitest.AdminKey, nil); got.Status != http.StatusOK {
			p.T.Errorf("%s answers with a link to %s, which answers %d: %s", operation, path, got.Status, got.Body)
		}
	}
}

// steady replaces what differs between runs: the address of the service, ids, keys, secrets, values that depend on
// random salts, and the microseconds by which the clock moves.
func (p *examplePlayer) steady(text string) string {
	text = strings.ReplaceAll(text, p.URL, exampleBase)
	text = apitest.ChangingID.ReplaceAllStringFunc(text, func(id string) string {
		for steady, actual := range p.actual {
			if actual == id {
				return steady
			}
		}
		steady := fmt.Sprintf("01a1fe54-58ed-7d9f-923e-%08x", len(p.actual)+1)
		p.actual[steady] = id
		return steady
	})
	text = regexp.MustCompile(evidence.APIKeyPattern).ReplaceAllString(text, exampleKey)
	text = apitest.SigningSecret.ReplaceAllString(text, exampleSecret)
	text = apitest.InvitationLink.ReplaceAllString(text, "/-/invitations/$1/...")
	text = apitest.ChangingUse.ReplaceAllString(text, `"last_used_at":1793610000`)
	text = apitest.ChangingPackage.ReplaceAllString(text, `"size":59335,"sha256":"f52c2a48bb96e9ea7c8175b643774f9b37c42f3cf462815bddbf946674f5776f"`)
	for _, changing := range apitest.ChangingLog {
		text = regexp.MustCompile(changing.Pattern).ReplaceAllString(text, changing.Steady)
	}
	text = apitest.ChangingPayload.ReplaceAllStringFunc(text, func(member string) string {
		payload, err := base64.StdEncoding.DecodeString(apitest.ChangingPayload.FindStringSubmatch(member)[1])
		p.Must(err)
		return `"payload":"` + base64.StdEncoding.EncodeToString([]byte(p.steady(string(payload)))) + `","payloadType"`
	})
	text = apitest.ChangingKey.ReplaceAllString(text, `"$1":"..."`)
	return apitest.ChangingNumber.ReplaceAllString(text, "$1$2")
}

// write writes the answers into the files of the examples.
func (p *examplePlayer) write() {
	p.T.Helper()
	files, err := examples.Files()
	p.Must(err)
	for name, content := range files {
		for i := range content {
			content[i].Answer = p.answers[content[i].Operation]
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		p.Must(encoder.Encode(content))
		p.Must(os.WriteFile("../examples/"+name, text.Bytes(), 0o644))
	}
}

func compactJSON(t *testing.T, content json.RawMessage) string {
	t.Helper()
	var text bytes.Buffer
	if err := json.Compact(&text, content); err != nil {
		t.Errorf("%v: %s", err, content)
	}
	return text.String()
}
