package attestation

import (
	"encoding/json"
	"reflect"
	"testing"
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

func TestSonarResultsKeepWhatTheyCameWith(t *testing.T) {
	const sent = `{"analysedAt":"1","revision":"r","project":{"key":"k","url":"u","extra":1},"branch":{"name":"main"},"qualityGate":{"status":"OK","conditions":[],"more":[1.50]}}`
	var results SonarResults
	if err := json.Unmarshal([]byte(sent), &results); err != nil {
		t.Fatal(err)
	}
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

const sha = `"merge_commit":"0123456789abcdef0123456789abcdef01234567"`

func TestPullRequestsThatClientsSendAreTaken(t *testing.T) {
	for name, sent := range map[string]string{
		"V1":                          `{"url":"u","state":"MERGED",` + sha + `,"approvers":["a","b"]}`,
		"V1, open, nobody approved":   `{"url":"u","state":"OPEN","merge_commit":"","approvers":null}`,
		"V1 without approvers":        `{"url":"u","state":"OPEN","merge_commit":""}`,
		"V1 of a newer client":        `{"url":"u","state":"s",` + sha + `,"approvers":["a"],"author":"me","commits":null,"title":"","created_at":0,"merged_at":null,"head_ref":"","base_ref":""}`,
		"V2":                          `{"url":"u","state":"s","author":"a","title":"t","created_at":1750851601,"merged_at":1750923680.5,"head_ref":"h","base_ref":"b",` + sha + `,"approvers":[{"username":"x","state":"APPROVED","timestamp":1}],"commits":[{"sha1":"s","message":null,"author":"**REDACTED**","more":1}]}`,
		"V2, open":                    `{"url":"u","state":"s","author":"a","title":"t","created_at":1,"head_ref":"h","merge_commit":"","approvers":null,"commits":[]}`,
		"V2 without what may be left": `{"url":"u","state":"s","author":"a","title":"t","created_at":1,"head_ref":"h","commits":[]}`,
		"V2 with nulls":               `{"url":"u","state":"s","author":"a","title":"t","created_at":1,"merged_at":null,"head_ref":"h","base_ref":null,"merge_commit":null,"approvers":null,"commits":[]}`,
		"V2 with an unnamed title":    `{"url":"u","state":"s","author":"","title":"","created_at":1,"head_ref":"h","commits":[]}`,
	} {
		if found := CheckPullRequest(json.RawMessage(sent)); found != nil {
			t.Errorf("%s: %q", name, found)
		}
	}
}

func TestBadPullRequestsAreRefused(t *testing.T) {
	v1 := func(rest string) string { return `{"url":"u","state":"s","merge_commit":""` + rest + `}` }
	v2 := func(rest string) string {
		return `{"url":"u","state":"s","author":"a","title":"t","created_at":1,"head_ref":"h","commits":[]` + rest + `}`
	}
	for sent, want := range map[string]map[string]string{
		`"x"`:  {"": "Input should be a valid dictionary or object to extract fields from [input: x]"},
		`null`: {"": "Input should be a valid dictionary or object to extract fields from [input: None]"},
		`{}`: {"FoundPullRequestV1.url": "Field required [input: None]", "FoundPullRequestV1.state": "Field required [input: None]",
			"FoundPullRequestV1.merge_commit": "Field required [input: None]"},
		`{"url":1,"state":null,"merge_commit":"short"}`: {"FoundPullRequestV1.url": "Input should be a valid string [input: 1]",
			"FoundPullRequestV1.state":        "Input should be a valid string [input: None]",
			"FoundPullRequestV1.merge_commit": "String should match pattern '^([a-f0-9]{40})?$' [input: short]"},
		v1(`,"approvers":"me"`):            {"FoundPullRequestV1.approvers": "Input should be a valid list [input: me]"},
		v1(`,"approvers":[{}]`):            {"FoundPullRequestV1.approvers[0]": "Input should be a valid string [input: {}]"},
		v1(`,"colour":true`):               {"FoundPullRequestV1.colour": "Extra inputs are not permitted [input: True]"},
		v1(`,"base_ref":"main"`):           {"FoundPullRequestV1.base_ref": "Extra inputs are not permitted [input: main]"},
		v1(`,"commits":[{"message":"m"}]`): {"FoundPullRequestV1.commits[0].sha1": "Field required [input: None]"},
		`{"url":"u","state":"s","title":"t"}`: {"FoundPullRequestV2.author": "Field required [input: None]", "FoundPullRequestV2.created_at": "Field required [input: None]",
			"FoundPullRequestV2.head_ref": "Field required [input: None]", "FoundPullRequestV2.commits": "Field required [input: None]"},
		v2(`,"merged_at":"yesterday"`):      {"FoundPullRequestV2.merged_at": "Input should be a valid number [input: yesterday]"},
		v2(`,"merge_commit":"ABC"`):         {"FoundPullRequestV2.merge_commit": "String should match pattern '^([a-f0-9]{40})?$' [input: ABC]"},
		v2(`,"approvers":["me"]`):           {"FoundPullRequestV2.approvers[0]": "Input should be a valid dictionary or object to extract fields from [input: me]"},
		v2(`,"approvers":[{"author":"a"}]`): {"FoundPullRequestV2.approvers[0].username": "Field required [input: None]", "FoundPullRequestV2.approvers[0].author": "Extra inputs are not permitted [input: a]"},
		v2(`,"approvers":[{"username":"u","state":1,"timestamp":"t"}]`): {"FoundPullRequestV2.approvers[0].state": "Input should be a valid string [input: 1]",
			"FoundPullRequestV2.approvers[0].timestamp": "Input should be a valid number [input: t]"},
		`{"url":"javascript:x","state":"s","merge_commit":"","commits":[{"sha1":"a","url":"data:,"}]}`: {
			"FoundPullRequestV1.url":            "URL scheme should be 'http' or 'https' [input: javascript:x]",
			"FoundPullRequestV1.commits[0].url": "URL scheme should be 'http' or 'https' [input: data:,]"},
		v2(`,"other":1`): {"FoundPullRequestV2.other": "Extra inputs are not permitted [input: 1]"},
	} {
		if found := CheckPullRequest(json.RawMessage(sent)); !reflect.DeepEqual(found, want) {
			t.Errorf("%s: %q, want %q", sent, found, want)
		}
	}
}
