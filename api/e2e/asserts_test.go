package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
)

func (s *service) assertPath(file, query string) string {
	return "/asserts/" + s.org + "/fingerprint/" + evidence.HashAPIKey(file) + query
}

// wantAssert compares the answer of an assert: the scope and the verdict, each flow with its verdict, then each policy
// with its status. The explanation must have the same scope and verdict.
func (s *service) wantAssert(file, query, want string) {
	s.t.Helper()
	body := s.read(s.assertPath(file, query))
	clientReads(s.t, "assert", body)
	got := []string{fmt.Sprint(lookup(s.t, body, "scope"), " ", lookup(s.t, body, "compliant"))}
	for _, flow := range lookup(s.t, body, "flows").([]any) {
		got = append(got, fmt.Sprint(lookup(s.t, flow, "flow"), " ", lookup(s.t, flow, "compliant")))
	}
	for _, policy := range lookup(s.t, body, "policy_evaluations").([]any) {
		got = append(got, fmt.Sprint(lookup(s.t, policy, "policy_name"), " ", lookup(s.t, policy, "status")))
	}
	if got := strings.Join(got, ", "); got != want {
		s.t.Errorf("assert %s%s: %s\nwant %s", file, query, got, want)
	}
	explained := s.read(s.assertPath(file, "/explanation"+query))
	if lookup(s.t, explained, "compliant") != lookup(s.t, body, "compliant") || lookup(s.t, explained, "scope") != lookup(s.t, body, "scope") {
		s.t.Errorf("%s is explained by %s", query, asJSON(explained))
	}
}

func TestAssertsEvaluateTheirScope(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironment("open", evidence.Server)
	s.reportFile("build", "web")
	s.reportFile("promote", "web")
	s.attestGeneric("trail-of-web", "tested", false, "")
	s.storePolicy("provenance", "provenance: {required: true}")
	s.storePolicy("trails", "trail-compliance: {required: true}")
	s.attach("prod", "provenance", "trails")

	s.wantAssert("web", "", "flow false, build false, promote true")
	s.wantAssert("web", "?flow_name=promote", "flow true, promote true")
	s.wantAssert("web", "?flow_name=build", "flow false, build false")
	s.wantAssert("web", "?environment_name=open", "environment false, build false, promote true")
	s.wantAssert("web", "?environment_name=open&flow_name=promote", "environment true, promote true")
	s.wantAssert("web", "?environment_name=prod", "environment false, build false, promote true, provenance COMPLIANT, trails NON-COMPLIANT")
	s.wantAssert("web", "?policy_name=trails&policy_name=provenance", "policy false, build false, promote true, trails NON-COMPLIANT, provenance COMPLIANT")
	s.wantAssert("web", "?policy_name=provenance", "policy true, build false, promote true, provenance COMPLIANT")
	s.allowArtifact("prod", "web", "Agreed with security")
	s.wantAssert("web", "?environment_name=prod", "environment true, build false, promote true, provenance COMPLIANT, trails NON-COMPLIANT")
	body := s.read(s.assertPath("web", "?environment_name=prod"))
	if lookup(t, body, "allow_listing", "description") != "Agreed with security" || lookup(t, body, "environment") != "prod" ||
		lookup(t, body, "compliance_status", "status") != "NON-COMPLIANT" {
		t.Errorf("answered %s", asJSON(body))
	}
}

func TestInvalidAssertsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportFile("build", "web")
	s.createEnvironment("prod", evidence.Server)
	s.storePolicy("provenance", "provenance: {required: true}")
	fingerprint := evidence.HashAPIKey("web")
	for path, message := range map[string]string{
		s.assertPath("db", ""): "Artifact with fingerprint '" + evidence.HashAPIKey("db") + "' does not exist in organization '" + s.org + "'",
		"/asserts/" + s.org + "/fingerprint/" + fingerprint[:12]:         "Artifact with fingerprint '" + fingerprint[:12] + "' does not exist in organization '" + s.org + "'",
		s.assertPath("web", "?flow_name=no"):                             "Artifact with fingerprint '" + fingerprint + "' does not exist in flow 'no' belonging to organization '" + s.org + "'",
		s.assertPath("db", "?flow_name=build"):                           "Artifact with fingerprint '" + evidence.HashAPIKey("db") + "' does not exist in flow 'build' belonging to organization '" + s.org + "'",
		s.assertPath("db", "?flow_name=no"):                              "Artifact with fingerprint '" + evidence.HashAPIKey("db") + "' does not exist in flow 'no' belonging to organization '" + s.org + "'",
		s.assertPath("web", "?environment_name=no"):                      "Environment named 'no' does not exist for organization '" + s.org + "'",
		s.assertPath("web", "?policy_name=provenance&policy_name=no"):    "Policy 'no' does not exist in organization '" + s.org + "'",
		"/asserts/" + s.org + "/fingerprint/" + url.PathEscape("a/b c%"): "Artifact with fingerprint 'a/b c%' does not exist in organization '" + s.org + "'",
	} {
		s.wantError(http.StatusNotFound, message, http.MethodGet, path, "")
	}
	_, errors := s.want(http.StatusBadRequest, http.MethodGet, s.assertPath("web", "?environment_name=prod&policy_name=provenance"), nil).problem(t)
	if errors["query.policy_name"] == "" {
		t.Errorf("two scopes are answered with %v", errors)
	}
	if got := s.do(http.MethodGet, "/api/v2"+s.assertPath("web", ""), strangerKey, nil); got.status != http.StatusForbidden {
		t.Errorf("a stranger is answered %d", got.status)
	}
	if got := s.do(http.MethodGet, "/api/v2"+s.assertPath("web", ""), readerKey, nil); got.status != http.StatusOK {
		t.Errorf("a reader is answered %d", got.status)
	}
}

// TestSnapshotAssertAndDryRunAgree compares their verdicts on the same artifacts.
func TestSnapshotAssertAndDryRunAgree(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createEnvironment("prod", evidence.Server)
	s.createControl("R-1")
	files := []string{"a", "b", "c", "d"}
	for i, file := range files {
		s.reportFile("build", file)
		trail := "trail-of-" + file
		if i%2 == 0 {
			s.attestGeneric(trail, "tested", i == 0, "")
		}
		if i < 3 {
			s.postAttestation(http.StatusCreated, trail, "system", fmt.Sprintf(
				`{"attestation_name":"approved","type_name":"decision","control":"R-1","attestation_data":{"is_compliant":%t}}`, i != 1))
		}
	}
	rules := []string{"trail-compliance: {required: true, exceptions: [{if: \"${{ artifact.name == 'd' }}\"}]}",
		"attestations: [{type: generic, name: tested, if: \"${{ flow.tags.kind != 'x' }}\"}, {type: decision, for_control: R-1}]"}
	s.storePolicy("production", rules...)
	s.attach("prod", "production")
	s.reportServer("prod", files...)
	statusAndTypes := func(evaluation any) string {
		var types []string
		for _, rule := range lookup(t, evaluation, "rule_evaluations").([]any) {
			types = append(types, lookup(t, rule, "resolutions", 0, "type").(string))
		}
		return fmt.Sprint(lookup(t, evaluation, "status"), " ", types)
	}
	dry := s.dryRun(http.StatusOK, `{"environment_name":"prod","policy_name":"production"}`, rules...)
	snapshot := s.getSnapshot("prod", "-1")
	var verdicts []string
	for _, evaluated := range lookup(t, dry, "artifacts").([]any) {
		file := strings.TrimPrefix(lookup(t, evaluated, "name").(string), "/opt/")
		want := statusAndTypes(lookup(t, snapshot.artifact(t, file)["policy_decisions"], 0))
		if got := statusAndTypes(lookup(t, evaluated, "evaluation")); got != want {
			t.Errorf("%s: the dry run says %s, the snapshot %s", file, got, want)
		}
		if lookup(t, evaluated, "change") != "unchanged" {
			t.Errorf("%s changes: %s", file, asJSON(evaluated))
		}
		asserted := s.read(s.assertPath(file, "?environment_name=prod"))
		if got := statusAndTypes(lookup(t, asserted, "policy_evaluations", 0)); got != want && file != "d" { // asserts use the file name, to which the exception applies
			t.Errorf("%s: the assert says %s, the snapshot %s", file, got, want)
		}
		verdicts = append(verdicts, file+" "+want[:9])
	}
	slices.Sort(verdicts)
	if got := strings.Join(verdicts, ", "); got != "a COMPLIANT, b NON-COMPL, c NON-COMPL, d NON-COMPL" {
		t.Errorf("the verdicts are %s", got)
	}
}

// dryRun evaluates a policy without storing it, and decodes the answer.
func (s *service) dryRun(status int, payload string, rules ...string) any {
	s.t.Helper()
	content := "_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n"
	for _, rule := range rules {
		content += "  " + rule + "\n"
	}
	file := part{field: "policy_file", filename: "policy.yml", contentType: "application/octet-stream", content: []byte(content)}
	got := s.form(http.MethodPost, "/policies/"+s.org+"/evaluate", readerKey, "payload", payload, file)
	if got.status != status {
		s.t.Fatalf("dry run: %d %s", got.status, got.body)
	}
	var body any
	got.decode(s.t, &body)
	return body
}

func TestDryRunShowsChangesAndStoresNothing(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportFile("build", "web")
	s.reportServer("prod", "web", "db")
	changes := func(payload string, rules ...string) string {
		var lines []string
		for _, artifact := range lookup(t, s.dryRun(http.StatusOK, payload, rules...), "artifacts").([]any) {
			lines = append(lines, fmt.Sprint(lookup(t, artifact, "name"), " ", lookup(t, artifact, "compliant_then"), " ", lookup(t, artifact, "change"), " ", len(lookup(t, artifact, "explanation").([]any))))
		}
		slices.Sort(lines)
		return strings.Join(lines, ", ")
	}
	inProd := `{"environment_name":"prod"}`
	if got := changes(inProd, "provenance: {required: true}"); got != "/opt/db false became-non-compliant 1, /opt/web true became-compliant 0" {
		t.Errorf("before any policy is attached: %s", got)
	}
	s.storePolicy("strict", "attestations: [{type: snyk}]")
	s.attach("prod", "strict")
	if got := changes(inProd, "provenance: {required: true}"); got != "/opt/db false unchanged 1, /opt/web false unchanged 0" {
		t.Errorf("beside another policy: %s", got)
	}
	if got := changes(`{"environment_name":"prod","policy_name":"strict"}`, "provenance: {required: true}"); got != "/opt/db false unchanged 1, /opt/web true became-compliant 0" {
		t.Errorf("instead of the other policy: %s", got)
	}
	if got := changes(`{"fingerprint":"`+evidence.HashAPIKey("web")+`"}`, "attestations: [{type: snyk}]"); got != "web false became-non-compliant 1" {
		t.Errorf("for one artifact: %s", got)
	}
	if got := s.read("/policies/" + s.org).([]any); len(got) != 1 || s.getSnapshot("prod", "-1").Index != 2 {
		t.Errorf("something was stored: %s", asJSON(got))
	}
	s.dryRun(http.StatusBadRequest, `{}`, "provenance: {required: true}")
	s.dryRun(http.StatusBadRequest, `{"environment_name":"prod","fingerprint":"x"}`, "provenance: {required: true}")
	s.dryRun(http.StatusBadRequest, inProd, "provenance: {required: 1}")
	s.dryRun(http.StatusBadRequest, `{"environment_name":"prod","policy_name":"strct"}`, "provenance: {required: true}")
	s.dryRun(http.StatusNotFound, `{"environment_name":"nope"}`, "provenance: {required: true}")
	s.dryRun(http.StatusNotFound, `{"fingerprint":"nope"}`, "provenance: {required: true}")
	if got := s.form(http.MethodPost, "/policies/"+s.org+"/evaluate", readerKey, "payload", inProd); got.status != http.StatusBadRequest {
		t.Errorf("without a file: %d", got.status)
	}
}

func TestDryRunShowsTheReportedNamesOfArtifacts(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportFile("build", "web")
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath()+"/prod/report/server", fmt.Appendf(nil,
		`{"type":"server","artifacts":[{"digests":{"":%q},"creationTimestamp":1},{"digests":{"/opt/web":%q},"creationTimestamp":1}]}`,
		evidence.HashAPIKey("unknown"), evidence.HashAPIKey("web")))
	artifacts := lookup(t, s.dryRun(http.StatusOK, `{"environment_name":"prod"}`, "provenance: {required: true}"), "artifacts")
	if got := column(t, artifacts, "name"); got != " /opt/web" && got != "/opt/web " {
		t.Errorf("named %q", got)
	}
}

func TestAssertAcceptsTheFormerNameOfAFlow(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportFile("build", "web")
	s.reportFile("promote", "web")
	s.want(http.StatusOK, http.MethodPut, "/flows/"+s.org+"/build/rename", []byte(`{"new_name":"compile"}`))
	s.wantAssert("web", "?flow_name=compile", "flow true, compile true")
	s.wantAssert("web", "?flow_name=build", "flow true, compile true")
	s.want(http.StatusCreated, http.MethodPut, "/flows/"+s.org, []byte(`{"name":"build","description":"","visibility":"private","template":[]}`))
	s.want(http.StatusNotFound, http.MethodGet, s.assertPath("web", "?flow_name=build"), nil)
}

func TestExplanationNamesCauseAndRemedy(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportFile("build", "web")
	s.attestGeneric("trail-of-web", "tested", false, "")
	s.storePolicy("production", "provenance: {required: true}", "trail-compliance: {required: true}", "attestations: [{type: generic, name: tested}]")
	s.attach("prod", "production")
	texts := func(query string) []string {
		var lines []string
		for _, sentence := range lookup(t, s.read(s.assertPath("web", "/explanation"+query)), "explanation").([]any) {
			lines = append(lines, fmt.Sprint(lookup(t, sentence, "cause"), ": ", lookup(t, sentence, "text")))
		}
		return lines
	}
	want := []string{
		"non_compliant_in_trail: In trail 'trail-of-web' of flow 'build' the artifact is NON-COMPLIANT (non-compliant: 'tested').",
		"non_compliant_attestation: In trail 'trail-of-web' of flow 'build' the attestation 'tested' of type generic is non-compliant.",
		"rule_satisfied: Flow 'build' knows the artifact from trail 'trail-of-web'.",
	}
	if got := texts("?environment_name=prod"); !slices.Equal(got, want) {
		t.Errorf("explained by\n%s", strings.Join(got, "\n"))
	}
	if got := texts(""); !slices.Equal(got, want[:1]) {
		t.Errorf("without a scope it is explained by\n%s", strings.Join(got, "\n"))
	}
	sentence := lookup(t, s.read(s.assertPath("web", "/explanation?environment_name=prod")), "explanation", 1)
	attestation := lookup(t, s.onlyAttestation("trail-of-web", "tested"), "html_url")
	if lookup(t, sentence, "links", "attestation") != attestation || lookup(t, sentence, "remedy") == nil || lookup(t, sentence, "policy_name") != "production" {
		t.Errorf("the sentence is %s", asJSON(sentence))
	}
	s.allowArtifact("prod", "web", "Agreed")
	if got := texts("?environment_name=prod"); len(got) != 4 || !slices.Contains(got, "allow_listed: 'administrator' has allowed the artifact in environment 'prod' on "+s.clock.read().UTC().Format("2006-01-02 at 15:04 UTC")+", whatever policies say: Agreed") {
		t.Errorf("allowed, it is explained by\n%s", strings.Join(got, "\n"))
	}
	s.createEnvironment("open", evidence.Server)
	if got := texts("?environment_name=open"); len(got) != 2 || !strings.HasPrefix(got[1], "no_policies: ") {
		t.Errorf("without policies it is explained by\n%s", strings.Join(got, "\n"))
	}
}

// TestDecisionsAreMatchedToArtifacts records a decision on a control, then asserts the artifact web of trail-of-web by
// a policy that requires a decision.
func TestDecisionsAreMatchedToArtifacts(t *testing.T) {
	t.Parallel()
	commit := func(sha string) string { return `,"git_commit_info":{"sha1":"` + sha + `"}` }
	for name, c := range map[string]struct {
		trail, members string
		compliant      bool
		want           bool
	}{
		"by fingerprint in another trail": {"release", `,"artifact_fingerprint":"` + evidence.HashAPIKey("web") + `"`, true, true},
		"in its trail":                    {"trail-of-web", "", true, true},
		"in another trail":                {"release", "", true, false},
		"by name and commit":              {"trail-of-web", `,"target_artifacts":["app"]` + commit(commitOf("web")), true, true},
		"by name and another commit":      {"trail-of-web", `,"target_artifacts":["app"]` + commit(commitOf("db")), true, false},
		"by name alone":                   {"trail-of-web", `,"target_artifacts":["app"]`, true, true},
		"by another name":                 {"trail-of-web", `,"target_artifacts":["lib"]`, true, false},
		"non-compliant":                   {"trail-of-web", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := share(t)
			s.createControl("R-1")
			s.reportFile("build", "web")
			s.storePolicy("production", "attestations: [{type: decision, for_control: R-1}]")
			s.postAttestation(http.StatusCreated, c.trail, "system", fmt.Sprintf(
				`{"attestation_name":"go","type_name":"decision","control":"R-1"%s,"attestation_data":{"is_compliant":%t}}`, c.members, c.compliant))
			if got := lookup(t, s.read(s.assertPath("web", "?policy_name=production")), "compliant"); got != c.want {
				t.Errorf("compliant is %v, want %t", got, c.want)
			}
		})
	}
}

func TestLatestDecisionOnAControlCounts(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createControl("R-1")
	s.reportFile("build", "web")
	s.storePolicy("production", "attestations: [{type: decision, for_control: R-1}]")
	fingerprint := `,"artifact_fingerprint":"` + evidence.HashAPIKey("web") + `"`
	for i, step := range []struct {
		trail, members string
		compliant      bool
	}{
		{"release", fingerprint, true}, {"trail-of-web", "", false}, {"release-2", fingerprint, true}, {"release", fingerprint, false},
	} {
		s.postAttestation(http.StatusCreated, step.trail, "system", fmt.Sprintf(
			`{"attestation_name":"go-%d","type_name":"decision","control":"R-1"%s,"attestation_data":{"is_compliant":%t}}`, i, step.members, step.compliant))
		if got := lookup(t, s.read(s.assertPath("web", "?policy_name=production")), "compliant"); got != step.compliant {
			t.Errorf("after decision %d compliant is %v", i, got)
		}
	}
}
