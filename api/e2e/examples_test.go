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
func (s *service) prepareExample(operation string) {
	switch operation {
	case "k8s_report":
		// The state that the example replaces.
		s.want(http.StatusCreated, http.MethodPut, s.environmentsPath()+"/production/report/K8S", []byte(`{"artifacts":[{"digests":
			{"registry.example.com/checkout/api:1.9.0":"0abb3136559bf13f2b324a0255d0feee0ab7d75da98063bed6dada3d1a18bba1"},
			"podName":"api-6d8c7b9f4-k9m2p","namespace":"shop","creationTimestamp":1793520000,"owners":null}]}`))
		s.clock.advance(time.Minute)
	case "ecs_report":
		s.createEnvironment("production-ecs", evidence.ECS)
	case "s3_report":
		s.createEnvironment("production-s3", evidence.S3)
	case "azure_apps_report":
		s.createEnvironment("production-azure", evidence.AzureApps)
	case "cloud_run_report":
		s.createEnvironment("production-run", evidence.CloudRun)
	case "docker_report":
		s.createEnvironment("production-docker", evidence.Docker)
	case "lambda_report":
		s.createEnvironment("production-lambda", evidence.Lambda)
	case "server_report":
		s.createEnvironment("production-server", evidence.Server)
	case "join_physical_to_logical":
		s.createEnvironment("all-production", evidence.LogicalType)
	case "rename_environment":
		s.createEnvironment("staging", evidence.K8S)
	case "list_control_tag_choices":
		s.want(http.StatusOK, http.MethodPatch, s.tagsPath()+"/control/RISK-REVIEW", []byte(`{"set_tags":{"framework":"soc2","team":"payments"}}`))
	case "archive_control":
		s.createControl("OLD-REVIEW")
	case "list_deliveries":
		s.addDelivered()
	case "assemble_audit_bundle":
		s.want(http.StatusCreated, http.MethodPost, s.auditsPath(), []byte(`{"name":"week-45","environments":["production"],"from":"2026-11-02T09:38:00Z","to":"2026-11-02T09:39:00Z"}`))
	case "assemble_trail_audit_package", "get_log":
		s.awaitLogged(s.org)
	}
}

// addDelivered adds a successful delivery to the first target of the first action.
func (s *service) addDelivered() {
	s.t.Helper()
	at := evidence.Seconds(s.clock.read())
	actions, err := s.Process.Store.Actions.Of(s.t.Context(), s.orgID())
	s.must(err)
	delivery := notification.NewDelivery(s.orgID(), 1, &actions.All[0].Targets[0], notification.Notice{
		ID: evidence.NewID(), EventType: notification.EventNonCompliant, Description: "Environment production is not compliant any more",
	}, at, 0)
	delivery.Begin(at)
	delivery.End(delivery.Until, notification.Attempt{At: at, Duration: 0.125, Status: http.StatusNoContent}, 0)
	s.must(s.Process.Store.Deliveries.Add(s.t.Context(), []notification.Delivery{delivery}))
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
	s := start(t, options{stoppedAt: time.Unix(1_793_610_000, 500_000_000), settings: []string{newSigningKey(t), logKeyFile(t)}})
	written, err := examples.All()
	s.must(err)
	p := &examplePlayer{service: s, visitor: s.signedIn(readerKey), actual: map[string]string{}, answers: map[string]json.RawMessage{}}
	for _, operation := range exampleOrder {
		example, ok := written[operation]
		if !ok {
			t.Errorf("%s has no example", operation)
			continue
		}
		s.prepareExample(operation)
		p.exchangeExample(example)
		s.clock.advance(time.Minute)
	}
	for operation := range written {
		if !slices.Contains(exampleOrder, operation) {
			t.Errorf("the example of %s is not sent", operation)
		}
	}
	if readmetest.Updating() {
		if !t.Failed() {
			p.write()
		}
		return
	}
	for _, operation := range exampleOrder {
		t.Run(operation, func(t *testing.T) {
			want, got := compactJSON(t, written[operation].Answer), compactJSON(t, p.answers[operation])
			if want != got {
				t.Errorf("it answers\n%s\nthe example is\n%s", got, want)
			}
		})
	}
}

// examplePlayer sends the examples and keeps the answers, with the same ids, times and addresses in every run.
type examplePlayer struct {
	*service
	visitor *visitor
	actual  map[string]string // actual ids by the ids that the examples show
	answers map[string]json.RawMessage
}

// binaryMedia are the media types of answers that are not text.
var binaryMedia = map[string]bool{"application/gzip": true, "application/pdf": true, "application/octet-stream": true}

func (p *examplePlayer) exchangeExample(example examples.Example) {
	p.t.Helper()
	method, path := p.addressOf(example)
	if example.Operation == "accept_invitation" {
		example.Request = p.inviteAdmin()
	}
	got := p.request(method, path, adminKey, example.Request)
	if got.status > http.StatusCreated {
		p.t.Errorf("%s: %s %s answers %d: %s", example.Operation, method, path, got.status, got.body)
		return
	}
	p.follow(example.Operation, got.body)
	answer := p.steady(string(got.body))
	if binaryMedia[example.Media] {
		answer = "(the content of the file)"
	}
	if example.Media != "" {
		text, err := json.Marshal(answer)
		p.must(err)
		answer = string(text)
	}
	p.answers[example.Operation] = json.RawMessage(answer)
}

// inviteAdmin invites the administrator to another user's organization and returns the request that accepts.
func (p *examplePlayer) inviteAdmin() json.RawMessage {
	p.t.Helper()
	if got := p.do(http.MethodPost, "/api/v2/organizations", readerKey, []byte(`{"name":"platform"}`)); got.status != http.StatusCreated {
		p.t.Fatalf("status %d: %s", got.status, got.body)
	}
	got := p.do(http.MethodPost, "/api/v2/organizations/platform/invitations", readerKey, []byte(`{"role":"member"}`))
	_, secret := invitationOf(p.t, got)
	return fmt.Appendf(nil, `{"secret":%q}`, secret)
}

// addressOf returns the method of an operation and its path with the parameters of the example.
func (p *examplePlayer) addressOf(example examples.Example) (method, path string) {
	p.t.Helper()
	at := slices.IndexFunc(p.api.operations, func(o operation) bool { return o.content["operationId"] == example.Operation })
	if at < 0 {
		p.t.Fatalf("the document has no %s", example.Operation)
	}
	described := p.api.operations[at]
	path = "/api/v2" + described.path
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
	return described.method, path
}

// valuesOf reads a parameter: a value or a list of them.
func (p *examplePlayer) valuesOf(raw json.RawMessage) []string {
	p.t.Helper()
	var list []any
	if json.Unmarshal(raw, &list) != nil {
		list = make([]any, 1)
		p.must(json.Unmarshal(raw, &list[0]))
	}
	var values []string
	for _, value := range list {
		values = append(values, changingID.ReplaceAllStringFunc(fmt.Sprint(value), func(id string) string {
			return cmp.Or(p.actual[id], id)
		}))
	}
	return values
}

// formData are the names of the JSON parts of forms.
var formData = []string{"data_json", "payload"}

// request sends a body as JSON or, if it has a member of formData, as a form. Webhooks are signed.
func (p *examplePlayer) request(method, path, key string, body json.RawMessage) answer {
	p.t.Helper()
	if uid, ok := strings.CutPrefix(path, "/api/v2/webhooks/"); ok {
		kind, uid, _ := strings.Cut(uid, "/")
		return p.deliver(kind, uid, sign(body), body)
	}
	var form map[string]json.RawMessage
	at := -1
	if json.Unmarshal(body, &form) == nil {
		at = slices.IndexFunc(formData, func(name string) bool { return form[name] != nil })
	}
	if at < 0 {
		return p.do(method, path, key, body)
	}
	data := formData[at]
	var files []part
	for name, content := range form {
		if name == data {
			continue
		}
		var text string
		p.must(json.Unmarshal(content, &text))
		files = append(files, part{field: name, filename: name, contentType: "application/octet-stream", content: []byte(text)})
	}
	return p.form(method, strings.TrimPrefix(path, "/api/v2"), key, data, string(form[data]), files...)
}

const apiPrefix = links.Prefix + "/"

// follow gets every address of the service in an answer: operations with the administrator's key, pages as a signed-in
// reader.
func (p *examplePlayer) follow(operation string, body []byte) {
	p.t.Helper()
	for _, link := range regexp.MustCompile(`"`+regexp.QuoteMeta(p.URL)+`(/[^"]*)"`).FindAllSubmatch(body, -1) {
		page := strings.ReplaceAll(string(link[1]), `\u0026`, "&")
		if strings.HasPrefix(page, apiPrefix) {
			continue
		}
		if got := p.visitor.open(page); got.status != http.StatusOK {
			p.t.Errorf("%s answers with the page %s, which answers %d: %s", operation, page, got.status, got.body)
		}
	}
	for _, link := range regexp.MustCompile(regexp.QuoteMeta(p.URL+apiPrefix)+`[^"\\,\s]+`).FindAll(body, -1) {
		path := strings.TrimPrefix(string(link), p.URL)
		if got := p.do(http.MethodGet, path, adminKey, nil); got.status != http.StatusOK {
			p.t.Errorf("%s answers with a link to %s, which answers %d: %s", operation, path, got.status, got.body)
		}
	}
}

var (
	changingID = regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{8}\b`)
	// The last use of a key is written after the request that used it.
	changingUse = regexp.MustCompile(`"last_used_at":\d+`)
	// A package contains ids that change.
	changingPackage = regexp.MustCompile(`"size":\d+,"sha256":"[0-9a-f]{64}"`)
	// Salts are random, and so are all hashes and signatures that depend on them.
	changingLog = []struct{ pattern, steady string }{
		{`127\.0\.0\.1:\d+/acme`, "attestry.example.com/acme"},
		{`\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}`, "+4f3c2b1a+AXJ7bhM0c9u0mXq2vK8Jt1nYl5cZr3wQe6oHs9dPfGaU"},
		{`"size":\d+,"root_hash"`, `"size":57,"root_hash"`},
		{`/acme\n\d+\n`, "/acme\n57\n"},
		{`/acme\\n\d+\\n`, `/acme\n57\n`},
		{`(\\"(hash|group)\\":\\")[0-9a-f]{64}`, "${1}6d12290f746151d6bc6c09d19ca705922df8813379b5031a3a1a6c63505386ff"},
		{`"salt":"[^"]*","index":\d+,"proof":\[[^]]*\]`, `"salt":"FdS90/pxDGk12mAtsZH5pA==","index":3,"proof":["l1bg+HgANOlzZq9JMSpR+uvjGhQxk03BpXkw2JRf4nw="]`},
		{`("fact":"[^"]*","index":)\d+`, "${1}3"},
		{`index \d+\\n([A-Za-z0-9+/=]{44}\\n)*`, `index 3\nl1bg+HgANOlzZq9JMSpR+uvjGhQxk03BpXkw2JRf4nw=\n`},
		{`"timestamp":[0-9.]+,"lag`, `"timestamp":1793618280.5,"lag`},
		{`"log_begin":(null|\{[^}]*\})`, `"log_begin":{"size":57,"timestamp":1793611740.5,"note":"attestry.example.com/acme\n57\nl1bg+HgANOlzZq9JMSpR+uvjGhQxk03BpXkw2JRf4nw=\n\n— attestry.example.com/acme eqedtOHFHlgN8LJAIIxtuocpAuaWdfuw6xIoMrGV9EO8cNyJt4HnEuN3CgCVT5dLlOvaMfAW4vKQ0+j5X5/MCojWiQg=\n"}`},
		{`"rank":"[0-9a-f]{64}"`, `"rank":"0a4f7e2bb96e9ea7c8175b643774f9b37c42f3cf462815bddbf946674f5776fa"`},
		{`"log_index":\d+`, `"log_index":47`},
		{`"[0-9a-f]{64}"},"annotations":{"log_index":47}`, `"2f7cdfc7c12ea0012f751aa8fa98e7f4e85bde04f88830f9c0cba43fd722a591"},"annotations":{"log_index":47}`},
		{`(\\n|\n|")[A-Za-z0-9+/]{43}=`, "${1}l1bg+HgANOlzZq9JMSpR+uvjGhQxk03BpXkw2JRf4nw="},
		{`[A-Za-z0-9+/]{91,96}=?=?(\\n|\n)`, "eqedtOHFHlgN8LJAIIxtuocpAuaWdfuw6xIoMrGV9EO8cNyJt4HnEuN3CgCVT5dLlOvaMfAW4vKQ0+j5X5/MCojWiQg=${1}"},
	}
	// The signed payload of a bundle contains the address of the service.
	changingPayload = regexp.MustCompile(`"payload":"([^"]+)","payloadType"`)
	changingKey     = regexp.MustCompile(`"(sig|hint|public_key)":"[^"]+"`)
	// A number with a fraction, or the seconds of an RFC 3339 time.
	changingNumber = regexp.MustCompile(`([:,\[]\d+\.\d)\d+(Z?)\b`)
)

// steady replaces what differs between runs: the address of the service, ids, keys, secrets, values that depend on
// random salts, and the microseconds by which the clock moves.
func (p *examplePlayer) steady(text string) string {
	text = strings.ReplaceAll(text, p.URL, exampleBase)
	text = changingID.ReplaceAllStringFunc(text, func(id string) string {
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
	text = signingSecret.ReplaceAllString(text, exampleSecret)
	text = invitationLink.ReplaceAllString(text, "/-/invitations/$1/...")
	text = changingUse.ReplaceAllString(text, `"last_used_at":1793610000`)
	text = changingPackage.ReplaceAllString(text, `"size":59335,"sha256":"f52c2a48bb96e9ea7c8175b643774f9b37c42f3cf462815bddbf946674f5776f"`)
	for _, changing := range changingLog {
		text = regexp.MustCompile(changing.pattern).ReplaceAllString(text, changing.steady)
	}
	text = changingPayload.ReplaceAllStringFunc(text, func(member string) string {
		payload, err := base64.StdEncoding.DecodeString(changingPayload.FindStringSubmatch(member)[1])
		p.must(err)
		return `"payload":"` + base64.StdEncoding.EncodeToString([]byte(p.steady(string(payload)))) + `","payloadType"`
	})
	text = changingKey.ReplaceAllString(text, `"$1":"..."`)
	return changingNumber.ReplaceAllString(text, "$1$2")
}

// write writes the answers into the files of the examples.
func (p *examplePlayer) write() {
	p.t.Helper()
	files, err := examples.Files()
	p.must(err)
	for name, content := range files {
		for i := range content {
			content[i].Answer = p.answers[content[i].Operation]
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		p.must(encoder.Encode(content))
		p.must(os.WriteFile("../examples/"+name, text.Bytes(), 0o644))
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
