package attestations

import (
	"reflect"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/memory"
	"attestry/api/validation"
	"attestry/evidence/attestation"
)

// payloads has the payload of each type, as the bodies of requests do.
type payloads struct {
	JUnit *[]attestation.JUnitResult      `json:"junit,omitempty"`
	Snyk  *attestation.SnykResultsSummary `json:"snyk,omitempty"`
	Jira  *[]attestation.JiraItem         `json:"jira,omitempty"`
	Sonar *attestation.SonarResults       `json:"sonar,omitempty"`
	V2    *attestation.FoundPullRequestV2 `json:"v2,omitempty"`
}

func TestPayloadsAreValidatedAsInTheContract(t *testing.T) {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schema := registry.Schema(reflect.TypeFor[payloads](), true, "")
	check := func(body string) validation.Findings {
		found := validation.Findings{}
		decodeType[payloads](validation.NewValidator(registry), schema, []byte(body), found)
		return found
	}
	const gate = `"project":{"key":"k","url":"u"},"analysedAt":"1","revision":"r"`
	for _, body := range []string{
		`{"junit":[{"name":"n","failures":0,"errors":0,"skipped":1,"total":2,"duration":2.5,"timestamp":null},{"name":"n","failures":"1","errors":0,"skipped":1,"total":2,"duration":2}]}`,
		`{"snyk":{"tool":{"name":"n","version":"v"},"results":[{"low_count":0,"medium_count":0,"high_count":1,"low":null,"high":[{"id":"i","message":"m","more":1,"locations":[{"uri":"u","lines":"1-2","more":1},{"uri":"u"}],"priority_score":null}]}]}}`,
		`{"jira":[{"issue_id":"i","issue_url":"u","issue_exists":true},{"issue_id":"i","issue_url":"u","issue_exists":false,"issue_fields":{"a":null,"b":[1]}}]}`,
		`{"sonar":{` + gate + `}}`, `{"sonar":{` + gate + `,"qualityGate":null,"serverUrl":null,"branch":{"name":"b"}}}`,
		`{"sonar":{` + gate + `,"qualityGate":{"status":"OK","name":null,"more":1,"conditions":[{"metric":"m","errorThreshold":"1","operator":"GT","status":"OK","value":null,"onLeakPeriod":null,"more":1}]}}}`,
		`{"v2":{"url":"u","state":"s","author":"a","title":"t","created_at":1,"head_ref":"h","merge_commit":null,"approvers":null,"commits":[{"sha1":"s","message":null,"parents":null,"more":1}]}}`,
	} {
		if found := check(body); len(found) > 0 {
			t.Errorf("%s: %q", body, found)
		}
	}
	for body, at := range map[string]string{
		`{"junit":[{"name":"n","failures":0,"errors":0,"skipped":1,"total":2,"duration":2.5,"more":1}]}`: "junit[0].more",
		`{"junit":[{"name":"n","failures":0,"errors":0,"skipped":1,"total":2}]}`:                         "junit[0].duration",
		`{"snyk":{"tool":{"name":"n","version":"v","more":1},"results":[]}}`:                             "snyk.tool.more",
		`{"snyk":{"tool":{"name":"n","version":"v"},"results":[{"low_count":0,"medium_count":0}]}}`:      "snyk.results[0].high_count",
		`{"jira":[{"issue_id":"i","issue_url":"u","issue_exists":true,"issue_fields":null}]}`:            "jira[0].issue_fields",
		`{"sonar":{` + gate + `,"qualityGate":{"status":"OK"}}}`:                                         "sonar.qualityGate.conditions",
		`{"sonar":{"project":{"key":"k"},"analysedAt":"1","revision":"r"}}`:                              "sonar.project.url",
	} {
		if found := check(body); found[at] == "" {
			t.Errorf("%s: found %q, nothing at %s", body, found, at)
		}
	}
	for _, name := range []string{"JUnitResult", "SnykResultsSummary", "SnykTool", "ProjectScanResult", "FoundIssue", "IssueLocation", "JiraItem", "SonarResults", "SonarProject", "QualityGate", "QualityGateCondition", "FoundPullRequestV2", "PullRequestApprover", "GitCommit"} {
		if registry.Map()[name] == nil {
			t.Errorf("there is no component %s", name)
		}
	}
}

// decodeType decodes a body without a limit of memory.
func decodeType[T any](v *validation.Validator, s *huma.Schema, body []byte, found validation.Findings) *T {
	value, err := validation.DecodeStrict[T](memory.Unlimited(), v, s, body, found)
	if err != nil {
		panic(err)
	}
	return value
}
