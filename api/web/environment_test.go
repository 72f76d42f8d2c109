package web

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// environmentAPI has an environment with a snapshot.
func environmentAPI(t *testing.T, environment, snapshot, history string) *fakeAPI {
	t.Helper()
	return newFakeAPI(t, cannedAnswers{
		"GET /environments/acme/production":                        canned(environment),
		"GET /environments/acme/production/admissions?per_page=10": canned(deniedAdmissions),
		"GET /snapshots/acme/production?per_page=30":               canned(history),
		"GET /snapshots/acme/production/-1?explain=true":           canned(snapshot),
		"GET /snapshots/acme/production/2?explain=true":            canned(snapshot),
	})
}

// deniedAdmissions are the decisions of admission control that denied a workload.
const deniedAdmissions = `{"total_count":12,"admissions":[{"outcome":"denied","kind":"Pod","namespace":"shop","name":"` + script + `","user":null,"reason":null,
	"count":2,"last_at":1774900000.5,"images":[{"image":"` + script + `","reason":"a"},{"image":"b","reason":"c"},{"image":"d","reason":"e"},{"image":"f","reason":"g"}]}]}`

func TestEnvironmentShowsDeniedAdmissions(t *testing.T) {
	api := environmentAPI(t, `{"name":"production","type":"K8S"}`, "", `[]`)
	api.open(t, "/acme/environments/production").has(t, "Not admitted in 30 days", `<span class="state bad">denied</span>`, escapedScript, "2 times", "<p>and 1 more</p>", "<p>and 11 more</p>")
	other := environmentAPI(t, `{"name":"production","type":"ECS"}`, "", `[]`)
	other.open(t, "/acme/environments/production").lacks(t, "Not admitted")
}

func TestEnvironmentsWithMuchTextStaySmall(t *testing.T) {
	var policies, flows, sentences, artifacts []string
	for i := range 40 {
		policies = append(policies, fmt.Sprintf(`"policy-%02d"`, i))
		flows = append(flows, fmt.Sprintf(`{"flow_name":"flow-%02d","trail_name":"t%d"}`, i, i))
		sentences = append(sentences, fmt.Sprintf(`{"failing":true,"text":"sentence %02d","policy_name":"p1"}`, i))
	}
	for range 70 {
		artifacts = append(artifacts, `{"name":"`+strings.Repeat("<", 300)+`","fingerprint":"`+fingerprint+`","compliant":false,"flows":[`+strings.Join(flows, ",")+`],
			"explanation":[`+strings.Join(sentences, ",")+`],"annotation":{"type":"unchanged","now":1}}`)
	}
	api := environmentAPI(t, `{"name":"production","type":"K8S","description":"`+strings.Repeat("d", 1<<20)+`","policies":[`+strings.Join(policies, ",")+`]}`,
		`{"index":1,"is_latest":true,"artifact_compliance_count":{"false":70},"artifacts":[`+strings.Join(artifacts, ",")+`]}`, `[{"index":1,"from":1793610900.5}]`)
	shown := api.open(t, "/acme/environments/production")
	shown.has(t, "<strong>70 artifacts</strong>: <bdi>Sentence 09</bdi>", "60 more</a>", "<div>and 37 more</div>", "</a> and 20 more</dd>", "policy-19", `Policy <a href="/acme/policies/p1">`)
	shown.lacks(t, "policy-20", "flow-03", "entence 10")
}

func TestEnvironmentPageExplainsFailuresFirst(t *testing.T) {
	api := environmentAPI(t,
		fmt.Sprintf(`{"name":"production","type":"K8S","state":false,"description":"`+script+`","policies":["p1"],"last_reported_at":%d}`, testTime.Add(-time.Hour).Unix()),
		`{"index":2,"is_latest":false,"timestamp":1774900000.5,"artifact_compliance_count":{"true":1,"false":1,"null":0},"artifacts":[
			{"name":"good","fingerprint":"aa","compliant":true,"annotation":{"type":"unchanged","now":1},"flows":[]},
			{"name":"`+script+`","fingerprint":"`+fingerprint+`","compliant":false,"annotation":{"type":"became-non-compliant","now":3},
				"git_commit":"4ab2c0e1f5d9a7b3c8e6f0d1a2b3c4d5e6f70819","commit_url":"`+link+`","flows":[{"flow_name":"a/b","trail_name":"`+attribute+`"}],
				"explanation":[{"text":"`+attribute+`","failing":true,"remedy":"Report `+script+`"}]}]}`,
		`[{"index":3,"state":true,"from":1774950000.5},{"index":2,"state":null,"from":1774900000.5},{"index":1,"state":false,"from":1774800000.5}]`)
	api.answers["GET /log/acme/entries"] = canned(`{"entries":[{"fact":"snapshot/production:2","index":6}]}`)
	shown := api.open(t, "/acme/environments/production/snapshots/2")
	shown.has(t, escapedScript, `<a href="/api/v2/log/acme/proof/snapshot/production:2" download>logged as entry 6</a>`, `<p>The environment now: <span class="state bad">not compliant</span> <span class="type">K8S</span> <span class="state bad">silent</span>`, "1 compliant, 1 not compliant, 0 not judged", "Report &lt;script&gt;", "4ab2c0e1f5d9",
		`href="/acme/flows/a%2Fb/artifacts/`+fingerprint+`"`, "became non compliant",
		`href="/acme/environments/production/snapshots/1" rel="prev"`, `href="/acme/environments/production/snapshots/3" rel="next"`, "/diff?from=1&amp;to=2",
		`snapshots/3">Snapshot 3</a> <span class="state good">compliant<`,
		`<li aria-current="page"><a href="/acme/environments/production/snapshots/2">Snapshot 2</a> <span class="state unknown">not judged<`,
		`snapshots/1">Snapshot 1</a> <span class="state bad">not compliant<`)
	wrong, runs, good := strings.Index(shown.text, "What is wrong"), strings.Index(shown.text, "What runs"), strings.Index(shown.text, "<bdi>good</bdi>")
	if remedy := strings.Index(shown.text, `class="remedy"`); wrong > remedy || remedy > runs || runs > good {
		t.Errorf("what is wrong is at %d, its remedy at %d, what runs at %d, what is compliant at %d", wrong, remedy, runs, good)
	}
}

func TestReportersWithoutARecentReportAreSilent(t *testing.T) {
	for _, test := range []struct {
		kind     string
		reported time.Duration
		silent   bool
	}{
		{"K8S", silentAfter + time.Second, true}, {"K8S", silentAfter - time.Second, false}, {"logical", time.Hour, false},
	} {
		api := environmentAPI(t, fmt.Sprintf(`{"name":"production","type":%q,"last_reported_at":%d}`, test.kind, testTime.Add(-test.reported).Unix()), "", `[]`)
		shown := api.open(t, "/acme/environments/production")
		shown.has(t, "There is no snapshot yet")
		if got := strings.Contains(shown.text, ">silent<"); got != test.silent {
			t.Errorf("%s is silent %s after its report: %t", test.kind, test.reported, got)
		}
	}
}

func TestArtifactsOfASnapshotArePaged(t *testing.T) {
	const artifact = `{"name":"a","fingerprint":"aa","compliant":true,"annotation":{"type":"unchanged","now":1}}`
	api := environmentAPI(t, `{"name":"production","type":"K8S"}`,
		`{"index":2,"is_latest":true,"artifacts":[`+artifact+strings.Repeat(","+artifact, 119)+`]}`, `[{"index":2}]`)
	const path = "/acme/environments/production"
	shown := api.open(t, path+"?state=compliant&from=50")
	shown.has(t, `href="`+path+`/snapshots/2?state=compliant">Previous page`, `href="`+path+`/snapshots/2?from=100&amp;state=compliant">Next page`, `<option value="compliant" selected>`)
	shown.lacks(t, "Next snapshot")
	last := api.open(t, path+"?from=100")
	last.has(t, `href="`+path+`/snapshots/2?from=50">Previous page`)
	last.lacks(t, "Next page")
	api.open(t, path+"?from=1000").has(t, `href="`+path+`/snapshots/2?from=70">Previous page`)
	for _, strange := range []string{"from=-1", "from=x", "from=99999999999999999999", "state=nonsense"} {
		first := api.open(t, path+"?"+strange)
		first.has(t, `href="`+path+`/snapshots/2?from=50">Next page`)
		first.lacks(t, "Previous page", "None that match")
	}
}
