package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"attestry/api/access"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/links"
)

func TestBodiesAreReadLaxly(t *testing.T) {
	s := start(t, testRoutes())
	for body, want := range map[string]string{
		`{"name":"x"}`: `{"name":"x"}`,
		` {"name":"x","count":"5","ratio":"1.5","on":"no"} `: `{"name":"x","count":5,"ratio":1.5,"on":false}`,
		`{"name":"x","count":1.0,"on":1}`:                    `{"name":"x","count":1,"on":true}`,
		`{"name":"x","count":true,"on":null,"comment":null}`: `{"name":"x","count":1}`,
		`{"name":"x","data":{"a":[1,"<b>",null]}}`:           `{"name":"x","data":{"a":[1,"<b>",null]}}`,
		`{"name":"x","names":{"a:1.2.3[0]":"b"}}`:            `{"name":"x","names":{"a:1.2.3[0]":"b"}}`,
		`{"name":"x","parts":[{"id":9007199254740993}]}`:     `{"name":"x","parts":[{"id":9007199254740993}]}`,
		`{"name":"x","comment":"\ud83d\ude80\ufffd"}`:        `{"name":"x","comment":"🚀` + "\uFFFD" + `"}`,
	} {
		for _, contentType := range []string{"application/json; charset=utf-8", "text/plain", ""} {
			got := s.send(t, "PUT", links.Prefix+"/things/acme", "member", body, "Content-Type", contentType)
			if got.status != 201 || got.body != want {
				t.Errorf("%s as %q:\n got %d %s\nwant %s", body, contentType, got.status, got.body, want)
			}
		}
	}
}

func TestWrongBodiesAreReportedInFull(t *testing.T) {
	s := start(t, testRoutes())
	for body, want := range map[string]map[string]string{
		"":     {"body": "Field required [input: None]"},
		"  ":   {"body": "Field required [input: None]"},
		"null": {"body": "Field required [input: None]"},
		"[]":   {"body": "Input should be a valid dictionary or object to extract fields from [input: []]"},
		`"x"`:  {"body": "Input should be a valid dictionary or object to extract fields from [input: x]"},
		"{}":   {"name": "Field required [input: None]"},
		`{"name":"x","data":{"a":[{"b":1,"b":2}]}}`: {"data.a[0].b": "Invalid JSON: the key is given twice [input: b]"},
		`{"Name":"x"}`: {"name": "Field required [input: None]", "Name": "Extra inputs are not permitted [input: x]"},
		`{"name":"x","z":{"a":null,"b":[true,"it's"]}}`: {"z": `Extra inputs are not permitted [input: {'a': None, 'b': [True, "it's"]}]`},
		`{"name":"X","count":-1,"ratio":"x","on":2,"kind":"d"}`: {
			"name":  "String should match pattern '^[a-z]+$' [input: X]",
			"count": "Input should be greater than or equal to 0 [input: -1]",
			"ratio": "Input should be a valid number, unable to parse string as a number [input: x]",
			"on":    "Input should be a valid boolean, unable to interpret input [input: 2]",
			"kind":  "Input should be 'a', 'b' or 'c' [input: d]",
		},
		`{"name":null,"count":null,"parts":null,"on":[],"home":"","label":"x"}`: {
			"name":  "Input should be a valid string [input: None]",
			"count": "Input should be a valid integer [input: None]",
			"parts": "Input should be a valid list [input: None]",
			"on":    "Input should be a valid boolean [input: []]",
			"home":  "Input should be a valid URL, input is empty [input: ]",
			"label": "String should have at least 2 characters [input: x]",
		},
		`{"name":"x","count":1.5,"home":"/a","label":"abcd","names":"x"}`: {
			"count": "Input should be a valid integer, got a number with a fractional part [input: 1.5]",
			"home":  "Input should be a valid URL, relative URL without a base [input: /a]",
			"label": "String should have at most 3 characters [input: abcd]",
			"names": "Input should be a valid dictionary [input: x]",
		},
		`{"name":"x","names":{"a.b[0]:1.2":1},"parts":[{"id":1},"",{"id":"y"}]}`: {
			"names.a.b[0]:1.2": "Input should be a valid string [input: 1]",
			"parts[1]":         "Input should be a valid dictionary or object to extract fields from [input: ]",
			"parts[2].id":      "Input should be a valid integer, unable to parse string as an integer [input: y]",
		},
		`{"name":"x","parts":[{"id":1},{"id":1},{"id":1},{"id":1}]}`: {
			"parts": "List should have at most 3 items after validation, not 4 [input: [{'id': 1}, {'id': 1}, {'id': 1}, {'id': 1}]]",
		},
		`{"name":"x","count":1e400}`:                                      {"count": "Unable to parse input string as an integer, exceeded maximum size [input: 1e400]"},
		`{"name":"x","comment":"a\u0000b"}`:                               {"comment": validation.UnreadableText + " [input: a\x00b]"},
		"{\"name\":\"x\",\"comment\":\"a\xff\"}":                          {"comment": validation.UnreadableText + " [input: a\uFFFD]"},
		`{"name":"x","comment":"\ud800"}`:                                 {"comment": validation.UnreadableText + " [input: \uFFFD]"},
		`{"name":"x","parts":[{"id":1}],"data":[{"a":["\udc00\ud800"]}]}`: {"data[0].a[0]": validation.UnreadableText + " [input: \uFFFD\uFFFD]"},
		"{\"name\":\"x\",\"names\":{\"b\xe2\x82\":\"\"}}":                 {"names.b\uFFFD\uFFFD.[key]": validation.UnreadableText + " [input: b\uFFFD\uFFFD]"},
		"\"\xff\"":                           {"body": validation.UnreadableText + " [input: \uFFFD]"},
		`{"name":"x","data":1e999}`:          {"data": "Input should have finite numbers only [input: 1e999]"},
		`{"name":"x","data":[{"a":-1e999}]}`: {"data": "Input should have finite numbers only [input: [{'a': -1e999}]]"},
		`{"name":"x"`:                        {"body": `Invalid JSON: unexpected end of input [input: {"name":"x"]`},
		`{"name":"x"} {}`:                    {"body": `Invalid JSON: trailing characters [input: {"name":"x"} {}]`},
		`{'name':"x"}`:                       {"body": `Invalid JSON: invalid character '\'' looking for beginning of object key string [input: {'name':"x"}]`},
		`{"name":"x"}]`:                      {"body": `Invalid JSON: invalid character ']' looking for beginning of value [input: {"name":"x"}]]`},
	} {
		got := s.send(t, "PUT", links.Prefix+"/things/acme", "member", body)
		got.expect(t, 400, evidence.ValidationMessage)
		if errors := got.decoded(t).Errors; !maps.Equal(errors, want) {
			t.Errorf("%s:\n got %q\nwant %q", body, errors, want)
		}
	}
}

func TestHostileBodiesAreClientErrors(t *testing.T) {
	s := start(t, testRoutes())
	for name, body := range map[string]string{
		"nested lists":       strings.Repeat("[", 100_000),
		"nested objects":     strings.Repeat(`{"data":`, 100_000),
		"closed nesting":     `{"name":"x","data":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}",
		"huge number":        `{"name":"x","count":` + strings.Repeat("9", 100_000) + "}",
		"huge exponent":      `{"name":"x","ratio":1e99999999999}`,
		"NUL":                "\x00",
		"NUL in a string":    "{\"name\":\"\x00\"}",
		"byte order mark":    "\uFEFF{}",
		"lone surrogate":     `{"name":"\ud800"}`,
		"long key":           `{"name":"x","` + strings.Repeat("k", 100_000) + `":1}`,
		"many unknown keys":  `{"name":"x"` + manyKeys(20_000) + "}",
		"brackets in string": `{"name":"` + strings.Repeat("[", 1000) + `"}`,
	} {
		got := s.send(t, "PUT", links.Prefix+"/things/acme", "member", body)
		if got.status != 400 {
			t.Errorf("%s: %d %.200s", name, got.status, got.body)
		}
		if found := len(got.decoded(t).Errors); found == 0 || found > validation.MaxFindings {
			t.Errorf("%s: %d findings", name, found)
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	return b.String()
}

func TestBodyAndParametersAreReportedTogether(t *testing.T) {
	both := Route{Method: "PUT", Path: "/both/{org}", OperationID: "both", Tag: "T", Summary: "S", Rule: access.Rule{MinRole: evidence.Reader},
		Serve: WithBody(func(_ context.Context, in *searchInput, thing *Thing) (*thingOutput, error) {
			return &thingOutput{Status: 200, Body: thing}, nil
		})}
	s := start(t, []Route{both})
	got := s.send(t, "PUT", links.Prefix+"/both/acme?page=x", "reader", `{}`).decoded(t).Errors
	if len(got) != 2 || got["query.page"] == "" || got["name"] == "" {
		t.Errorf("got %v", got)
	}
}

func TestBodiesAboveTheLimitAreTooLarge(t *testing.T) {
	s := start(t, testRoutes())
	fits := `{"name":"x"}` + strings.Repeat(" ", jsonLimit-12)
	if got := s.send(t, "PUT", links.Prefix+"/things/acme", "member", fits); got.status != 201 {
		t.Errorf("a body of exactly the limit: %d %s", got.status, got.body)
	}
	s.send(t, "PUT", links.Prefix+"/things/acme", "member", fits+" ").expect(t, 413, "Request body exceeds the limit of 1 MiB")
	report := `{"artifacts":[]}` + strings.Repeat(" ", ReportLimit-16)
	if got := s.send(t, "PUT", links.Prefix+"/things/acme/x/report", "snapshotter", report); got.status != 200 {
		t.Errorf("a report of exactly the limit: %d %s", got.status, got.body)
	}
	s.send(t, "PUT", links.Prefix+"/things/acme/x/report", "snapshotter", report+" ").expect(t, 413, "Request body exceeds the limit of 32 MiB")
	s.send(t, "PUT", links.Prefix+"/things/acme/x/report", "snapshotter", report+strings.Repeat(" ", Mebibyte)).
		expect(t, 413, "Request body exceeds the limit of 32 MiB")
}

func TestReportsAreValidatedByBothDecoders(t *testing.T) {
	s := start(t, testRoutes())
	digest := strings.Repeat("a", 64)
	artifact := func(digest, created string) string {
		return fmt.Sprintf(`{"artifacts":[{"digests":{"app:1.2.3":%s},"creationTimestamp":%s}]}`, digest, created)
	}
	for body, want := range map[string]map[string]string{
		artifact(`"`+digest+`"`, "1700000000"):                 nil,
		artifact(`"`+digest+`"`, `"1700000000"`):               nil,
		artifact(`"`+digest+`"`, "1.7e9"):                      nil,
		artifact(`"`+digest+`"`, "0"):                          nil,
		`{"artifacts":[],"type":"things"}`:                     nil,
		`{"artifacts":[{"digests":{},"creationTimestamp":1}]}`: nil,
		`{}`:                             {"artifacts": "Field required [input: None]"},
		`{"artifacts":null}`:             {"artifacts": "Input should be a valid list [input: None]"},
		`{"artifacts":[null]}`:           {"artifacts[0]": "Input should be a valid dictionary or object to extract fields from [input: None]"},
		`{"Artifacts":[]}`:               {"artifacts": "Field required [input: None]", "Artifacts": "Extra inputs are not permitted [input: []]"},
		`{"artifacts":[],"type":"K8S"}`:  {"type": "Input should be 'things' [input: K8S]"},
		`{"artifacts":[],"extra":1}`:     {"extra": "Extra inputs are not permitted [input: 1]"},
		artifact(`""`, "1"):              {"artifacts[0].digests.app:1.2.3": "String should match pattern '^[a-f0-9]{64}$' [input: ]"},
		artifact(`null`, "1"):            {"artifacts[0].digests.app:1.2.3": "Input should be a valid string [input: None]"},
		artifact(`"`+digest+`"`, "null"): {"artifacts[0].creationTimestamp": "Input should be a valid integer [input: None]"},
		`{"artifacts":[{"digests":{"a\ud83d\ude80":"` + digest + `"},"creationTimestamp":1}]}`:   nil,
		`{"artifacts":[{"digests":{"a\ud83d":"` + digest + `"},"creationTimestamp":1}]}`:         {"artifacts[0].digests.a\uFFFD.[key]": validation.UnreadableText + " [input: a\uFFFD]"},
		"{\"artifacts\":[{\"digests\":{\"a\xff\":\"" + digest + "\"},\"creationTimestamp\":1}]}": {"artifacts[0].digests.a\uFFFD.[key]": validation.UnreadableText + " [input: a\uFFFD]"},
		`{"artifacts":[{"digests":{"a\u0000":"` + digest + `"},"creationTimestamp":1}]}`:         {"artifacts[0].digests.a\x00": validation.UnreadableText + " [input: a\x00]"},
	} {
		got := s.send(t, "PUT", links.Prefix+"/things/acme/x/report", "snapshotter", body)
		if want == nil {
			if got.status != 200 || got.body != `"OK"` {
				t.Errorf("%s: %d %s", body, got.status, got.body)
			}
			continue
		}
		got.expect(t, 400, evidence.ValidationMessage)
		if errors := got.decoded(t).Errors; !maps.Equal(errors, want) {
			t.Errorf("%s:\n got %q\nwant %q", body, errors, want)
		}
	}
}

func TestComponentsOfAttestationsAreNamedAsInTheContract(t *testing.T) {
	s := start(t, productRoutes())
	var document struct {
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := json.Unmarshal([]byte(s.send(t, "GET", links.Prefix+"/openapi.json", "", "").body), &document); err != nil {
		t.Fatal(err)
	}
	schemas := document.Components.Schemas
	for name, closed := range map[string]bool{
		"CustomAttestationPostInput": true, "GenericAttestationPostInput": true, "JiraAttestationPostInput": true, "JiraItem": true,
		"JUnitAttestationPostInput": true, "JUnitResult": true, "OverrideAttestationPostInput": true,
		"PullRequestAttestationPostInput": true, "FoundPullRequestV1": true, "FoundPullRequestV2": true, "PullRequestApprover": true,
		"SnykAttestationPostInput": true, "SnykResultsSummary": true, "SnykTool": true, "ProjectScanResult": true, "FoundIssue": false,
		"IssueLocation": false, "SonarAttestationPostInput": true, "SonarResults": false, "SonarProject": false, "QualityGate": false,
		"QualityGateCondition": false, "SystemAttestationPostInput": false, "GitCommit": false, "RepoInfoPostInput": false,
		"ExternalAttachmentUrl": true,
	} {
		schema, ok := schemas[name]
		if !ok || (schema["additionalProperties"] == false) != closed {
			t.Errorf("%s: there %t, additionalProperties %v", name, ok, schema["additionalProperties"])
		}
	}
	for _, name := range []string{"CustomAttestationPostInput", "OverrideAttestationPostInput"} {
		annotations, _ := schemas[name]["properties"].(map[string]any)["annotations"].(map[string]any)
		if _, ok := annotations["patternProperties"].(map[string]any)["^[A-Za-z0-9_-]+$"]; !ok {
			t.Errorf("%s has the annotations %v", name, annotations)
		}
	}
	items, err := json.Marshal(schemas["PullRequestAttestationPostInput"]["properties"].(map[string]any)["pull_requests"])
	if err != nil || !strings.Contains(string(items), `"anyOf":[{"$ref":"#/components/schemas/FoundPullRequestV1"},{"$ref":"#/components/schemas/FoundPullRequestV2"}]`) {
		t.Errorf("pull requests are %s", items)
	}
}
