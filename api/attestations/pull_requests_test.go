package attestations

import (
	"encoding/json"
	"maps"
	"testing"

	"attestry/api/validation"
	"attestry/evidence/attestation"
)

const sha = `"merge_commit":"0123456789abcdef0123456789abcdef01234567"`

func TestPullRequestsThatClientsSendAreAccepted(t *testing.T) {
	for name, sent := range map[string]string{
		"V1":                          `{"url":"u","state":"MERGED",` + sha + `,"approvers":["a","b"]}`,
		"V1, open, nobody approved":   `{"url":"u","state":"OPEN","merge_commit":"","approvers":null}`,
		"V1 without approvers":        `{"url":"u","state":"OPEN","merge_commit":""}`,
		"V1 of a newer client":        `{"url":"u","state":"s",` + sha + `,"approvers":["a"],"author":"me","commits":null,"title":"","created_at":0,"merged_at":null,"head_ref":"","base_ref":""}`,
		"V2":                          `{"url":"u","state":"s","author":"a","title":"t","created_at":1750851601,"merged_at":1750923680.5,"head_ref":"h","base_ref":"b",` + sha + `,"approvers":[{"username":"x","state":"APPROVED","timestamp":1}],"commits":[{"sha1":"s","message":null,"author":"**REDACTED**","more":1}]}`,
		"V2, open":                    `{"url":"u","state":"s","author":"a","title":"t","created_at":1,"head_ref":"h","merge_commit":"","approvers":null,"commits":[]}`,
		"V2 without optional members": `{"url":"u","state":"s","author":"a","title":"t","created_at":1,"head_ref":"h","commits":[]}`,
		"V2 with nulls":               `{"url":"u","state":"s","author":"a","title":"t","created_at":1,"merged_at":null,"head_ref":"h","base_ref":null,"merge_commit":null,"approvers":null,"commits":[]}`,
		"V2 with an empty title":      `{"url":"u","state":"s","author":"","title":"","created_at":1,"head_ref":"h","commits":[]}`,
	} {
		if found := (FoundPullRequests{json.RawMessage(sent)}).check(); len(found) > 0 {
			t.Errorf("%s: %q", name, found)
		}
	}
}

func TestBadPullRequestsAreRefused(t *testing.T) {
	v1 := func(rest string) string { return `{"url":"u","state":"s","merge_commit":""` + rest + `}` }
	v2 := func(rest string) string {
		return `{"url":"u","state":"s","author":"a","title":"t","created_at":1,"head_ref":"h","commits":[]` + rest + `}`
	}
	for sent, want := range map[string]validation.Findings{
		`{}`: {"pull_requests[0].FoundPullRequestV1.url": "Field required [input: None]", "pull_requests[0].FoundPullRequestV1.state": "Field required [input: None]",
			"pull_requests[0].FoundPullRequestV1.merge_commit": "Field required [input: None]"},
		`{"url":1,"state":null,"merge_commit":"short"}`: {"pull_requests[0].FoundPullRequestV1.url": "Input should be a valid string [input: 1]",
			"pull_requests[0].FoundPullRequestV1.state":        "Input should be a valid string [input: None]",
			"pull_requests[0].FoundPullRequestV1.merge_commit": "String should match pattern '^([a-f0-9]{40})?$' [input: short]"},
		v1(`,"approvers":"me"`):            {"pull_requests[0].FoundPullRequestV1.approvers": "Input should be a valid list [input: me]"},
		v1(`,"approvers":[{}]`):            {"pull_requests[0].FoundPullRequestV1.approvers[0]": "Input should be a valid string [input: {}]"},
		v1(`,"colour":true`):               {"pull_requests[0].FoundPullRequestV1.colour": "Extra inputs are not permitted [input: True]"},
		v1(`,"base_ref":"main"`):           {"pull_requests[0].FoundPullRequestV1.base_ref": "Extra inputs are not permitted [input: main]"},
		v1(`,"commits":[{"message":"m"}]`): {"pull_requests[0].FoundPullRequestV1.commits[0].sha1": "Field required [input: None]"},
		`{"url":"u","state":"s","title":"t"}`: {"pull_requests[0].FoundPullRequestV2.author": "Field required [input: None]", "pull_requests[0].FoundPullRequestV2.created_at": "Field required [input: None]",
			"pull_requests[0].FoundPullRequestV2.head_ref": "Field required [input: None]", "pull_requests[0].FoundPullRequestV2.commits": "Field required [input: None]"},
		v2(`,"merged_at":"yesterday"`):      {"pull_requests[0].FoundPullRequestV2.merged_at": "Input should be a valid number, unable to parse string as a number [input: yesterday]"},
		v2(`,"merge_commit":"ABC"`):         {"pull_requests[0].FoundPullRequestV2.merge_commit": "String should match pattern '^([a-f0-9]{40})?$' [input: ABC]"},
		v2(`,"approvers":["me"]`):           {"pull_requests[0].FoundPullRequestV2.approvers[0]": "Input should be a valid dictionary or object to extract fields from [input: me]"},
		v2(`,"approvers":[{"author":"a"}]`): {"pull_requests[0].FoundPullRequestV2.approvers[0].username": "Field required [input: None]", "pull_requests[0].FoundPullRequestV2.approvers[0].author": "Extra inputs are not permitted [input: a]"},
		v2(`,"approvers":[{"username":"u","state":1,"timestamp":"t"}]`): {"pull_requests[0].FoundPullRequestV2.approvers[0].state": "Input should be a valid string [input: 1]",
			"pull_requests[0].FoundPullRequestV2.approvers[0].timestamp": "Input should be a valid number, unable to parse string as a number [input: t]"},
		`{"url":"javascript:x","state":"s","merge_commit":"","commits":[{"sha1":"a","url":"data:,"}]}`: {
			"pull_requests[0].FoundPullRequestV1.url":            "URL scheme should be 'http' or 'https' [input: javascript:x]",
			"pull_requests[0].FoundPullRequestV1.commits[0].url": "URL scheme should be 'http' or 'https' [input: data:,]"},
		v2(`,"other":1`): {"pull_requests[0].FoundPullRequestV2.other": "Extra inputs are not permitted [input: 1]"},
	} {
		if found := (FoundPullRequests{json.RawMessage(sent)}).check(); !maps.Equal(found, want) {
			t.Errorf("%s: %q, want %q", sent, found, want)
		}
	}
}

func TestNumbersOfPullRequestsMayBeSentAsTexts(t *testing.T) {
	requests := FoundPullRequests{
		json.RawMessage(`{"url":"u","state":"s","author":"a","title":"t","created_at":"17","head_ref":"h","commits":null}`),
		json.RawMessage(`{"url":"u", "state":"s","merge_commit":"","commits":[{"sha1":"s","timestamp":5}]}`),
	}
	sent := string(requests[1])
	if found := requests.check(); len(found) > 0 {
		t.Errorf("it finds %v", found)
	}
	var read struct {
		CreatedAt float64 `json:"created_at"`
	}
	if err := json.Unmarshal(requests[0], &read); err != nil || read.CreatedAt != 17 {
		t.Errorf("it becomes %s", requests[0])
	}
	if string(requests[1]) != sent {
		t.Errorf("what was sent as it is to be becomes %s", requests[1])
	}
}

// JSON is decoded without regard to case, and with a long s as an s. The second name would replace the author's.
func TestMembersOfPullRequestsThatDifferByCaseAreDropped(t *testing.T) {
	for _, other := range []string{"Author_Username", "author_u\u017fername"} {
		requests := FoundPullRequests{json.RawMessage(`{"url":"u","state":"s","author":"a","title":"t","created_at":1,"head_ref":"h",` +
			`"commits":[{"sha1":"s","author_username":"ada","` + other + `":"eve","more":1}]}`)}
		if found := requests.check(); len(found) > 0 {
			t.Errorf("it finds %v", found)
		}
		var read attestation.FoundPullRequestV2
		if err := json.Unmarshal(requests[0], &read); err != nil || *read.Commits[0].AuthorUsername != "ada" {
			t.Errorf("%s: %s becomes %+v, %v", other, requests[0], read, err)
		}
	}
}
