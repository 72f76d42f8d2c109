package attestation

import (
	"encoding/json"
	"reflect"
	"testing"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

func TestVerdictsOfBuiltInTypes(t *testing.T) {
	gate := func(status string) *sonarRule {
		rule := new(sonarRule)
		rule.Gate.Status = status
		return rule
	}
	snyk := func(low, medium, high int64) *snykRule {
		processed := ProcessSnyk(SnykResultsSummary{Results: []ProjectScanResult{{}, {ProcessedScanResult: ProcessedScanResult{LowCount: low, MediumCount: medium, HighCount: high}}}})
		return &snykRule{processed.Results}
	}
	for name, c := range map[string]struct{ got, want bool }{
		"junit without suites":          {new(junitRule).Compliant(), true},
		"junit, all passed":             {(&junitRule{{}, {}}).Compliant(), true},
		"junit, a failure":              {(&junitRule{{}, {Failures: 1}}).Compliant(), false},
		"junit, an error":               {(&junitRule{{Errors: 1}, {}}).Compliant(), false},
		"junit, counts that cancel out": {(&junitRule{{Errors: 1, Failures: -1}}).Compliant(), false},
		"snyk without results":          {new(snykRule).Compliant(), true},
		"snyk, nothing found":           {snyk(0, 0, 0).Compliant(), true},
		"snyk, low":                     {snyk(1, 0, 0).Compliant(), false},
		"snyk, medium":                  {snyk(0, 1, 0).Compliant(), false},
		"snyk, high":                    {snyk(0, 0, 1).Compliant(), false},
		"snyk, counts that cancel out":  {snyk(-1, 1, 0).Compliant(), false},
		"no pull request":               {(&pullRequestRule{}).Compliant(), false},
		"a pull request":                {(&pullRequestRule{json.RawMessage(`{}`)}).Compliant(), true},
		"no issue":                      {new(jiraRule).Compliant(), false},
		"issues that exist":             {(&jiraRule{{Exists: true}, {Exists: true}}).Compliant(), true},
		"an issue that does not exist":  {(&jiraRule{{Exists: true}, {Exists: false}}).Compliant(), false},
		"sonar, OK":                     {gate("OK").Compliant(), true},
		"sonar, ok in small letters":    {gate("ok").Compliant(), false},
		"sonar, ERROR":                  {gate("ERROR").Compliant(), false},
		"sonar, WARN":                   {gate("WARN").Compliant(), false},
		"sonar, NONE":                   {gate("NONE").Compliant(), false},
		"sonar without gate":            {new(sonarRule).Compliant(), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: compliant is %v", name, c.got)
		}
	}
}

func TestSnykIsShownAsCounts(t *testing.T) {
	var summary SnykResultsSummary
	if err := json.Unmarshal([]byte(`{"tool":{"name":"SnykCode","version":"1.0"},"results":[
		{"low_count":1,"medium_count":2,"high_count":3,"high":[{"id":"x","message":"secret"}]}]}`), &summary); err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(ProcessSnyk(summary))
	const want = `{"schema_version":1,"tool":{"name":"SnykCode","version":"1.0"},"results":[{"low_count":1,"medium_count":2,"high_count":3}]}`
	if err != nil || string(shown) != want {
		t.Errorf("got %s %v", shown, err)
	}
	version := int64(2)
	if got := ProcessSnyk(SnykResultsSummary{SchemaVersion: &version}); got.SchemaVersion != 2 || got.Results == nil {
		t.Errorf("got %+v", got)
	}
}

func TestSonarResultsKeepUnknownMembers(t *testing.T) {
	const sent = `{"analysedAt":"1","revision":"r","project":{"key":"k","url":"u","extra":1},"branch":{"name":"main"},"qualityGate":{"status":"OK","conditions":[],"more":[1.50]}}`
	var results SonarResults
	evidencetest.Must(t, json.Unmarshal([]byte(sent), &results))
	kept, err := json.Marshal(results)
	if err != nil || string(kept) != sent || results.Project.Key != "k" {
		t.Errorf("got %s %v", kept, err)
	}
}

func TestCommitOfARequestIsKeptWhole(t *testing.T) {
	var sent GitCommit
	if err := json.Unmarshal([]byte(`{"sha1":"s","message":"m","author":"a","author_username":"n","branch":"b","timestamp":1.5,
		"url":"u","parents":["p"],"verified":true,"signature_state":"valid"}`), &sent); err != nil {
		t.Fatal(err)
	}
	kept := reflect.ValueOf(sent.Evidence())
	for i := range kept.NumField() {
		if kept.Field(i).IsZero() {
			t.Errorf("%s is lost", kept.Type().Field(i).Name)
		}
	}
}

func TestVerdictOfADecisionIsTheOneThatWasRecorded(t *testing.T) {
	decision, _ := TypeOf(evidence.TypeDecision)
	for _, data := range []string{
		`{"is_compliant":false}`, `{"is_compliant":true}`, `{"Is_Compliant":true,"is_compliant":false}`,
		`{"is_compliant":false,"i\u017f_compliant":true}`, `{"is_compliant":true,"IS_COMPLIANT":"x"}`,
	} {
		recorded, err := ReadDecision(json.RawMessage(data))
		evidencetest.Must(t, err)
		again, err := decision.IsCompliant(map[string]json.RawMessage{DataMember: json.RawMessage(data)})
		if err != nil || again != recorded.IsCompliant {
			t.Errorf("%s was recorded as %t, and evaluated again it is %t, %v", data, recorded.IsCompliant, again, err)
		}
	}
}
