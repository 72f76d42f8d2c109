package attestation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
)

func TestSummariesSayWhatWasFound(t *testing.T) {
	for name, row := range map[string]struct {
		recorded, finding, payload, want string
		override                         bool
	}{
		"tests that fail":              {evidence.TypeJUnit, "", `{"junit_results":[{"name":"rounding","total":5,"failures":2,"errors":1,"skipped":1},{"name":"b","total":1}]}`, "3 of 6 tests failed, 1 skipped: rounding", false},
		"tests that pass":              {evidence.TypeJUnit, "", `{"junit_results":[{"total":3,"skipped":1}]}`, "2 tests passed, 1 skipped", false},
		"no tests":                     {evidence.TypeJUnit, "", `{"junit_results":[]}`, "0 tests passed", false},
		"three suites that fail":       {evidence.TypeJUnit, "", `{"junit_results":[{"name":"a","total":1,"failures":1},{"name":"b","total":1,"failures":1},{"name":"c","total":1,"failures":1}]}`, "3 of 3 tests failed: a, b, c", false},
		"many suites that fail":        {evidence.TypeJUnit, "", `{"junit_results":[{"name":"a","total":1,"failures":1},{"name":"b","total":1,"failures":1},{"name":"c","total":1,"failures":1},{"name":"d","total":1,"failures":1}]}`, "4 of 4 tests failed: a, b, c and 1 more", false},
		"findings":                     {evidence.TypeSnyk, "", `{"processed_snyk_results":{"results":[{"low_count":1,"high_count":2},{"medium_count":3}]}}`, "2 high, 3 medium, 1 low in 2 projects", false},
		"findings with issues":         {evidence.TypeSnyk, "1 high in 1 project: CVE-1 in openssl", `{"processed_snyk_results":{"results":[{"high_count":1}]}}`, "1 high in 1 project: CVE-1 in openssl", false},
		"no findings":                  {evidence.TypeSnyk, "", `{"processed_snyk_results":{"results":[{}]}}`, "nothing found in 1 project", false},
		"issues":                       {evidence.TypeJira, "", `{"jira_results":[{"issue_id":"A-1","issue_exists":true},{"issue_id":"A-2"}]}`, "issue A-1\nissue A-2 (does not exist)", false},
		"no issues":                    {evidence.TypeJira, "", `{"jira_results":[]}`, "no issue", false},
		"a quality gate":               {evidence.TypeSonar, "", `{"sonar_results":{"project":{"key":"k"},"qualityGate":{"status":"ERROR","conditions":[{"metric":"lines","status":"OK"},{"metric":"coverage","status":"ERROR","value":"55","operator":"LT","errorThreshold":"80"}]}}}`, "quality gate ERROR for project k: coverage is 55 (LT 80)", false},
		"no quality gate":              {evidence.TypeSonar, "", `{"sonar_results":{"project":{"key":"k"}}}`, "no quality gate for project k", false},
		"a pull request":               {evidence.TypePullRequest, "", `{"pull_requests":[{"url":"u","author":"alice","approvers":[{"username":"alice","state":"APPROVED"},{"username":"bob"},{"username":"eve","state":"COMMENTED"}]}]}`, "u by alice, approved by bob", false},
		"a pull request by one alone":  {evidence.TypePullRequest, "", `{"pull_requests":[{"url":"u","author":"alice","approvers":["alice"]}]}`, "u by alice, approved by nobody else", false},
		"no pull request":              {evidence.TypePullRequest, "", `{"pull_requests":[]}`, "no pull request", false},
		"a verdict alone":              {evidence.TypeGeneric, "", `{}`, "", false},
		"a verdict with a finding":     {evidence.TypeGeneric, "out of memory", `{}`, "out of memory", false},
		"a payload of an earlier form": {evidence.TypeJUnit, "", `{"junit_results":{"total":3}}`, "", false},
		"a custom type":                {"custom:coverage", "", `{"attestation_data":{"line":55.5,"files":[1,2],"by":"go","more":{},"none":null}}`, "by: go\nfiles: list of 2 items\nline: 55.5\nmore: (object)\nnone: null", false},
		"a custom type that fails":     {"custom:coverage", "line is 55, the rule asks for .line >= 80", `{"attestation_data":{"line":55}}`, "line is 55, the rule asks for .line >= 80\nline: 55", false},
		"data that is no object":       {"custom:coverage", "", `{"attestation_data":[1]}`, "", false},
		"an override":                  {"custom:coverage", "overridden by Alice: agreed", `{}`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var payload map[string]json.RawMessage
			if err := json.Unmarshal([]byte(row.payload), &payload); err != nil {
				t.Fatal(err)
			}
			if got := Summary(row.recorded, row.finding, row.override, payload); !slices.Equal(got, strings.FieldsFunc(row.want, func(r rune) bool { return r == '\n' })) {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestFindingsAreOneLine(t *testing.T) {
	tests := map[string]json.RawMessage{"junit_results": json.RawMessage(`[{"name":"rounding","total":3,"failures":1}]`)}
	scan := SnykResultsSummary{Results: []ProjectScanResult{{
		ProcessedScanResult: ProcessedScanResult{HighCount: 1, MediumCount: 1}, High: []FoundIssue{{ID: "CVE-1", Message: "in openssl"}}, Medium: []FoundIssue{{ID: "CVE-2", Message: "in zlib"}},
	}}}
	override := evidence.Attestation{Type: evidence.TypeJUnit, Compliant: true, ReportedBy: "Alice", Override: &evidence.Override{Reason: "known,\nharmless"}}
	for name, row := range map[string]struct {
		of           evidence.Attestation
		failed, want string
	}{
		"compliant":               {evidence.Attestation{Type: evidence.TypeJUnit, Compliant: true, Payload: tests}, "", ""},
		"by the payload":          {evidence.Attestation{Type: evidence.TypeJUnit, Payload: tests}, "", "1 of 3 tests failed: rounding"},
		"by the issues of a scan": {evidence.Attestation{Type: evidence.TypeSnyk}, scan.Found(), "1 high, 1 medium in 1 project: CVE-1 in openssl, CVE-2 in zlib"},
		"by the description":      {evidence.Attestation{Type: evidence.TypeGeneric, Description: new("did not build")}, "", "did not build"},
		"without a description":   {evidence.Attestation{Type: evidence.TypeGeneric}, "", ""},
		"of an override":          {override, "", "overridden by Alice: known, harmless"},
		"longer than allowed":     {evidence.Attestation{Type: evidence.TypeGeneric}, strings.Repeat("x", 2*maxFinding), strings.Repeat("x", maxFinding) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Finding(&row.of, row.failed); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestFirstFailingRuleIsNamed(t *testing.T) {
	for rule, want := range map[string]string{
		".line >= 80":                     "line is 55, the rule asks for .line >= 80",
		".a.b == 1 and .line > .least":    "a.b is false, line is 55, least is missing, the rule asks for .a.b == 1 and .line > .least",
		`.tool == "go"`:                   `the rule asks for .tool == "go"`,
		"[.results[] | .score] | max > 5": "the rule asks for [.results[] | .score] | max > 5",
		".results == 1":                   "the rule asks for .results == 1",
	} {
		verdict, err := EvaluateBy(nil, []string{"true", rule, "false"}, json.RawMessage(`{"line":55,"a":{"b":false},"results":[{"score":1}]}`))
		if err != nil || verdict.Failed != want {
			t.Errorf("%q %v, want %q", verdict.Failed, err, want)
		}
	}
}

func TestRuleWithOneLongValueManyTimesIsDescribedInAShortText(t *testing.T) {
	long, _ := json.Marshal(map[string]string{"line": strings.Repeat("x", MaxPayload/2)})
	verdict, err := EvaluateBy(nil, []string{".line == .least" + strings.Repeat(" and .least == .line", 200)}, long)
	if err != nil || verdict.Compliant || len(verdict.Failed) > 3*MaxPayload {
		t.Errorf("%d bytes describe the rule, %v", len(verdict.Failed), err)
	}
}
