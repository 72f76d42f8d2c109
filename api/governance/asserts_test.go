package governance_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
)

func TestAssertsEvaluateTheirScope(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("open", evidence.Server)
	s.ReportFile("build", "web")
	s.ReportFile("promote", "web")
	s.AttestGeneric("trail-of-web", "tested", false, "")
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.StorePolicy("trails", "trail-compliance: {required: true}")
	s.Attach("prod", "provenance", "trails")

	s.WantAssert("web", "", "flow false, build false, promote true")
	s.WantAssert("web", "?flow_name=promote", "flow true, promote true")
	s.WantAssert("web", "?flow_name=build", "flow false, build false")
	s.WantAssert("web", "?environment_name=open", "environment false, build false, promote true")
	s.WantAssert("web", "?environment_name=open&flow_name=promote", "environment true, promote true")
	s.WantAssert("web", "?environment_name=prod", "environment false, build false, promote true, provenance COMPLIANT, trails NON-COMPLIANT")
	s.WantAssert("web", "?policy_name=trails&policy_name=provenance", "policy false, build false, promote true, trails NON-COMPLIANT, provenance COMPLIANT")
	s.WantAssert("web", "?policy_name=provenance", "policy true, build false, promote true, provenance COMPLIANT")
	s.AllowArtifact("prod", "web", "Agreed with security")
	s.WantAssert("web", "?environment_name=prod", "environment true, build false, promote true, provenance COMPLIANT, trails NON-COMPLIANT")
	body := s.Read(s.AssertPath("web", "?environment_name=prod"))
	if apitest.Lookup(t, body, "allow_listing", "description") != "Agreed with security" || apitest.Lookup(t, body, "environment") != "prod" ||
		apitest.Lookup(t, body, "compliance_status", "status") != "NON-COMPLIANT" {
		t.Errorf("answered %s", apitest.AsJSON(body))
	}
}

func TestInvalidAssertsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportFile("build", "web")
	s.CreateEnvironment("prod", evidence.Server)
	s.StorePolicy("provenance", "provenance: {required: true}")
	fingerprint := evidence.HashAPIKey("web")
	for path, message := range map[string]string{
		s.AssertPath("db", ""): "Artifact with fingerprint '" + evidence.HashAPIKey("db") + "' does not exist in organization '" + s.Org + "'",
		"/asserts/" + s.Org + "/fingerprint/" + fingerprint[:12]:         "Artifact with fingerprint '" + fingerprint[:12] + "' does not exist in organization '" + s.Org + "'",
		s.AssertPath("web", "?flow_name=no"):                             "Artifact with fingerprint '" + fingerprint + "' does not exist in flow 'no' belonging to organization '" + s.Org + "'",
		s.AssertPath("db", "?flow_name=build"):                           "Artifact with fingerprint '" + evidence.HashAPIKey("db") + "' does not exist in flow 'build' belonging to organization '" + s.Org + "'",
		s.AssertPath("db", "?flow_name=no"):                              "Artifact with fingerprint '" + evidence.HashAPIKey("db") + "' does not exist in flow 'no' belonging to organization '" + s.Org + "'",
		s.AssertPath("web", "?environment_name=no"):                      "Environment named 'no' does not exist for organization '" + s.Org + "'",
		s.AssertPath("web", "?policy_name=provenance&policy_name=no"):    "Policy 'no' does not exist in organization '" + s.Org + "'",
		"/asserts/" + s.Org + "/fingerprint/" + url.PathEscape("a/b c%"): "Artifact with fingerprint 'a/b c%' does not exist in organization '" + s.Org + "'",
	} {
		s.WantError(http.StatusNotFound, message, http.MethodGet, path, "")
	}
	_, errors := s.Want(http.StatusBadRequest, http.MethodGet, s.AssertPath("web", "?environment_name=prod&policy_name=provenance"), nil).Problem(t)
	if errors["query.policy_name"] == "" {
		t.Errorf("two scopes are answered with %v", errors)
	}
	apitest.Equal(t, s.Do(http.MethodGet, "/api/v2"+s.AssertPath("web", ""), apitest.StrangerKey, nil).Status,
		http.StatusForbidden, "a stranger is answered")
	apitest.Equal(t, s.Do(http.MethodGet, "/api/v2"+s.AssertPath("web", ""), apitest.ReaderKey, nil).Status,
		http.StatusOK, "a reader is answered")
}

// TestSnapshotAssertAndDryRunAgree compares their verdicts on the same artifacts.
func TestSnapshotAssertAndDryRunAgree(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateControl("R-1")
	files := []string{"a", "b", "c", "d"}
	for i, file := range files {
		s.ReportFile("build", file)
		trail := "trail-of-" + file
		if i%2 == 0 {
			s.AttestGeneric(trail, "tested", i == 0, "")
		}
		if i < 3 {
			s.PostAttestation(http.StatusCreated, trail, "system", fmt.Sprintf(
				`{"attestation_name":"approved","type_name":"decision","control":"R-1","attestation_data":{"is_compliant":%t}}`, i != 1))
		}
	}
	rules := []string{"trail-compliance: {required: true, exceptions: [{if: \"${{ artifact.name == 'd' }}\"}]}",
		"attestations: [{type: generic, name: tested, if: \"${{ flow.tags.kind != 'x' }}\"}, {type: decision, for_control: R-1}]"}
	s.StorePolicy("production", rules...)
	s.Attach("prod", "production")
	s.ReportServer("prod", files...)
	statusAndTypes := func(evaluation any) string {
		var types []string
		for _, rule := range apitest.Lookup(t, evaluation, "rule_evaluations").([]any) {
			types = append(types, apitest.Lookup(t, rule, "resolutions", 0, "type").(string))
		}
		return fmt.Sprint(apitest.Lookup(t, evaluation, "status"), " ", types)
	}
	dry := s.DryRun(http.StatusOK, `{"environment_name":"prod","policy_name":"production"}`, rules...)
	snapshot := s.GetSnapshot("prod", "-1")
	var verdicts []string
	for _, evaluated := range apitest.Lookup(t, dry, "artifacts").([]any) {
		file := strings.TrimPrefix(apitest.Lookup(t, evaluated, "name").(string), "/opt/")
		want := statusAndTypes(apitest.Lookup(t, snapshot.Artifact(t, file)["policy_decisions"], 0))
		apitest.Equal(t, statusAndTypes(apitest.Lookup(t, evaluated, "evaluation")), want, file)
		apitest.WantMember(t, evaluated, "change", "unchanged")
		asserted := s.Read(s.AssertPath(file, "?environment_name=prod"))
		if got := statusAndTypes(apitest.Lookup(t, asserted, "policy_evaluations", 0)); got != want && file != "d" { // asserts use the file name, to which the exception applies
			t.Errorf("%s: the assert says %s, the snapshot %s", file, got, want)
		}
		verdicts = append(verdicts, file+" "+want[:9])
	}
	slices.Sort(verdicts)
	apitest.Equal(t, strings.Join(verdicts, ", "), "a COMPLIANT, b NON-COMPL, c NON-COMPL, d NON-COMPL", "the verdicts")
}

func TestDryRunShowsChangesAndStoresNothing(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportFile("build", "web")
	s.ReportServer("prod", "web", "db")
	changes := func(payload string, rules ...string) string {
		var lines []string
		for _, artifact := range apitest.Lookup(t, s.DryRun(http.StatusOK, payload, rules...), "artifacts").([]any) {
			lines = append(lines, fmt.Sprint(apitest.Lookup(t, artifact, "name"), " ", apitest.Lookup(t, artifact, "compliant_then"), " ", apitest.Lookup(t, artifact, "change"), " ", len(apitest.Lookup(t, artifact, "explanation").([]any))))
		}
		slices.Sort(lines)
		return strings.Join(lines, ", ")
	}
	inProd := `{"environment_name":"prod"}`
	apitest.Equal(t, changes(inProd, "provenance: {required: true}"),
		"/opt/db false became-non-compliant 1, /opt/web true became-compliant 0", "before any policy is attached")
	s.StorePolicy("strict", "attestations: [{type: snyk}]")
	s.Attach("prod", "strict")
	apitest.Equal(t, changes(inProd, "provenance: {required: true}"),
		"/opt/db false unchanged 1, /opt/web false unchanged 0", "beside another policy")
	apitest.Equal(t, changes(`{"environment_name":"prod","policy_name":"strict"}`, "provenance: {required: true}"),
		"/opt/db false unchanged 1, /opt/web true became-compliant 0", "instead of the other policy")
	apitest.Equal(t, changes(`{"fingerprint":"`+evidence.HashAPIKey("web")+`"}`, "attestations: [{type: snyk}]"),
		"web false became-non-compliant 1", "for one artifact")
	if got := s.Read("/policies/" + s.Org).([]any); len(got) != 1 || s.GetSnapshot("prod", "-1").Index != 2 {
		t.Errorf("something was stored: %s", apitest.AsJSON(got))
	}
	s.DryRun(http.StatusBadRequest, `{}`, "provenance: {required: true}")
	s.DryRun(http.StatusBadRequest, `{"environment_name":"prod","fingerprint":"x"}`, "provenance: {required: true}")
	s.DryRun(http.StatusBadRequest, inProd, "provenance: {required: 1}")
	s.DryRun(http.StatusBadRequest, `{"environment_name":"prod","policy_name":"strct"}`, "provenance: {required: true}")
	s.DryRun(http.StatusNotFound, `{"environment_name":"nope"}`, "provenance: {required: true}")
	s.DryRun(http.StatusNotFound, `{"fingerprint":"nope"}`, "provenance: {required: true}")
	apitest.Equal(t, s.Form(http.MethodPost, "/policies/"+s.Org+"/evaluate", apitest.ReaderKey, "payload", inProd).Status,
		http.StatusBadRequest, "without a file")
}

func TestDryRunShowsTheReportedNamesOfArtifacts(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportFile("build", "web")
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/prod/report/server", fmt.Appendf(nil,
		`{"type":"server","artifacts":[{"digests":{"":%q},"creationTimestamp":1},{"digests":{"/opt/web":%q},"creationTimestamp":1}]}`,
		evidence.HashAPIKey("unknown"), evidence.HashAPIKey("web")))
	artifacts := apitest.Lookup(t, s.DryRun(http.StatusOK, `{"environment_name":"prod"}`, "provenance: {required: true}"), "artifacts")
	if got := apitest.Column(t, artifacts, "name"); got != " /opt/web" && got != "/opt/web " {
		t.Errorf("named %q", got)
	}
}

func TestAssertAcceptsTheFormerNameOfAFlow(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportFile("build", "web")
	s.ReportFile("promote", "web")
	s.Want(http.StatusOK, http.MethodPut, "/flows/"+s.Org+"/build/rename", []byte(`{"new_name":"compile"}`))
	s.WantAssert("web", "?flow_name=compile", "flow true, compile true")
	s.WantAssert("web", "?flow_name=build", "flow true, compile true")
	s.Want(http.StatusCreated, http.MethodPut, "/flows/"+s.Org, []byte(`{"name":"build","description":"","visibility":"private","template":[]}`))
	s.Want(http.StatusNotFound, http.MethodGet, s.AssertPath("web", "?flow_name=build"), nil)
}

func TestExplanationNamesCauseAndRemedy(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportFile("build", "web")
	s.AttestGeneric("trail-of-web", "tested", false, "")
	s.StorePolicy("production", "provenance: {required: true}", "trail-compliance: {required: true}", "attestations: [{type: generic, name: tested}]")
	s.Attach("prod", "production")
	texts := func(query string) []string {
		var lines []string
		for _, sentence := range apitest.Lookup(t, s.Read(s.AssertPath("web", "/explanation"+query)), "explanation").([]any) {
			lines = append(lines, fmt.Sprint(apitest.Lookup(t, sentence, "cause"), ": ", apitest.Lookup(t, sentence, "text")))
		}
		return lines
	}
	want := []string{
		"non_compliant_in_trail: In trail 'trail-of-web' of flow 'build' the artifact is NON-COMPLIANT (non-compliant: 'tested').",
		"non_compliant_attestation: In trail 'trail-of-web' of flow 'build' the attestation 'tested' of type generic is non-compliant.",
		"rule_satisfied: Flow 'build' knows the artifact from trail 'trail-of-web'.",
	}
	apitest.EqualList(t, texts("?environment_name=prod"), want)
	apitest.EqualList(t, texts(""), want[:1])
	sentence := apitest.Lookup(t, s.Read(s.AssertPath("web", "/explanation?environment_name=prod")), "explanation", 1)
	attestation := apitest.Lookup(t, s.OnlyAttestation("trail-of-web", "tested"), "html_url")
	if apitest.Lookup(t, sentence, "links", "attestation") != attestation || apitest.Lookup(t, sentence, "remedy") == nil || apitest.Lookup(t, sentence, "policy_name") != "production" {
		t.Errorf("the sentence is %s", apitest.AsJSON(sentence))
	}
	s.AllowArtifact("prod", "web", "Agreed")
	if got := texts("?environment_name=prod"); len(got) != 4 || !slices.Contains(got, "allow_listed: 'administrator' has allowed the artifact in environment 'prod' on "+s.Clock.Read().UTC().Format("2006-01-02 at 15:04 UTC")+", whatever policies say: Agreed") {
		t.Errorf("allowed, it is explained by\n%s", strings.Join(got, "\n"))
	}
	s.CreateEnvironment("open", evidence.Server)
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
		"by name and commit":              {"trail-of-web", `,"target_artifacts":["app"]` + commit(apitest.CommitOf("web")), true, true},
		"by name and another commit":      {"trail-of-web", `,"target_artifacts":["app"]` + commit(apitest.CommitOf("db")), true, false},
		"by name alone":                   {"trail-of-web", `,"target_artifacts":["app"]`, true, true},
		"by another name":                 {"trail-of-web", `,"target_artifacts":["lib"]`, true, false},
		"non-compliant":                   {"trail-of-web", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.Share(t)
			s.CreateControl("R-1")
			s.ReportFile("build", "web")
			s.StorePolicy("production", "attestations: [{type: decision, for_control: R-1}]")
			s.PostAttestation(http.StatusCreated, c.trail, "system", fmt.Sprintf(
				`{"attestation_name":"go","type_name":"decision","control":"R-1"%s,"attestation_data":{"is_compliant":%t}}`, c.members, c.compliant))
			apitest.Equal[any](t, apitest.Lookup(t, s.Read(s.AssertPath("web", "?policy_name=production")), "compliant"),
				c.want, "compliant")
		})
	}
}

func TestLatestDecisionOnAControlCounts(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("R-1")
	s.ReportFile("build", "web")
	s.StorePolicy("production", "attestations: [{type: decision, for_control: R-1}]")
	fingerprint := `,"artifact_fingerprint":"` + evidence.HashAPIKey("web") + `"`
	for i, step := range []struct {
		trail, members string
		compliant      bool
	}{
		{"release", fingerprint, true}, {"trail-of-web", "", false}, {"release-2", fingerprint, true}, {"release", fingerprint, false},
	} {
		s.PostAttestation(http.StatusCreated, step.trail, "system", fmt.Sprintf(
			`{"attestation_name":"go-%d","type_name":"decision","control":"R-1"%s,"attestation_data":{"is_compliant":%t}}`, i, step.members, step.compliant))
		apitest.Equal[any](t, apitest.Lookup(t, s.Read(s.AssertPath("web", "?policy_name=production")), "compliant"),
			step.compliant, i)
	}
}
