package attestation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
)

func TestSummariesSayWhatWasFound(t *testing.T) {
	for name, row := range map[string]struct{ recorded, payload, want string }{
		"tests":                        {evidence.TypeJUnit, `{"junit_results":[{"total":3,"failures":1},{"total":1,"skipped":1}]}`, "4 tests in 2 suites: 1 failed, 0 errors, 1 skipped"},
		"findings":                     {evidence.TypeSnyk, `{"processed_snyk_results":{"results":[{"high_count":1,"low_count":2}]}}`, "Findings in 1 project: 1 high, 0 medium, 2 low"},
		"issues":                       {evidence.TypeJira, `{"jira_results":[{"issue_id":"A-1","issue_exists":true},{"issue_id":"A-2"}]}`, "Issue A-1\nIssue A-2 (does not exist)"},
		"a verdict alone":              {evidence.TypeGeneric, `{}`, ""},
		"a payload of an earlier form": {evidence.TypeJUnit, `{"junit_results":{"total":3}}`, ""},
		"a custom type":                {"coverage", `{"attestation_data":{"line":55.5,"files":[1,2],"by":"go","more":{}}}`, "by: go\nfiles: list of 2 items\nline: 55.5\nmore: (object)"},
		"data that is no object":       {"coverage", `{"attestation_data":[1]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var payload map[string]json.RawMessage
			if err := json.Unmarshal([]byte(row.payload), &payload); err != nil {
				t.Fatal(err)
			}
			if got := Summary(row.recorded, payload); !slices.Equal(got, strings.FieldsFunc(row.want, func(r rune) bool { return r == '\n' })) {
				t.Errorf("%q", got)
			}
		})
	}
}
