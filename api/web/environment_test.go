package web

import (
	"fmt"
	"strings"
	"testing"
)

// environmentAPI has an environment with a snapshot.
func environmentAPI(t *testing.T, environment, snapshot, history string) *fakeAPI {
	t.Helper()
	return newFakeAPI(t, cannedAnswers{
		"GET /environments/acme/production":              canned(environment),
		"GET /snapshots/acme/production?per_page=30":     canned(history),
		"GET /snapshots/acme/production/-1?explain=true": canned(snapshot),
		"GET /snapshots/acme/production/2?explain=true":  canned(snapshot),
	})
}

func TestEnvironmentsWithMuchTextStaySmall(t *testing.T) {
	var policies, flows, sentences, artifacts []string
	for i := range 40 {
		policies = append(policies, fmt.Sprintf(`"policy-%02d"`, i))
		flows = append(flows, fmt.Sprintf(`{"flow_name":"flow-%02d","trail_name":"t%d"}`, i, i))
		sentences = append(sentences, fmt.Sprintf(`{"failing":true,"text":"sentence %02d","links":{"policy":"https://attestry.example.com/api/v2/policies/acme/p1"}}`, i))
	}
	for range 70 {
		artifacts = append(artifacts, `{"name":"`+strings.Repeat("<", 300)+`","fingerprint":"`+fingerprint+`","compliant":false,"flows":[`+strings.Join(flows, ",")+`],
			"explanation":[`+strings.Join(sentences, ",")+`],"annotation":{"type":"unchanged","now":1}}`)
	}
	api := environmentAPI(t, `{"name":"production","type":"K8S","description":"`+strings.Repeat("d", 1<<20)+`","policies":[`+strings.Join(policies, ",")+`]}`,
		`{"index":1,"is_latest":true,"artifact_compliance_count":{"false":70},"artifacts":[`+strings.Join(artifacts, ",")+`]}`, `[{"index":1,"from":1793610900.5}]`)
	shown := api.open(t, "/acme/environments/production")
	shown.has(t, "<li>and 30 more</li>", "<div>and 37 more</div>", "</a> and 20 more</dd>", "policy-19", `href="/acme/policies/p1">Policy</a>`)
	shown.lacks(t, "policy-20", "flow-03", "sentence 10")
}

func TestHistoryTellsWhatWasNotJudged(t *testing.T) {
	api := environmentAPI(t, `{"name":"production","type":"K8S"}`, `{"index":2,"is_latest":false,"artifacts":[]}`,
		`[{"index":3,"state":true},{"index":2,"state":null},{"index":1,"state":false}]`)
	api.open(t, "/acme/environments/production/snapshots/2").has(t, "Previous snapshot</a>", "Next snapshot</a>",
		`snapshots/3">Snapshot 3</a> <span class="state good">compliant<`, `snapshots/2">Snapshot 2</a> <span class="state unknown">not judged<`,
		`snapshots/1">Snapshot 1</a> <span class="state bad">not compliant<`)
}
