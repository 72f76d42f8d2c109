package web

import (
	"fmt"
	"strings"
	"testing"
)

const (
	reviewID   = "01a1fe54-58ed-7d9f-923e-00000001"
	testID     = "01a1fe54-58ed-7d9f-923e-00000002"
	scanID     = "01a1fe54-58ed-7d9f-923e-00000003"
	overrideID = "01a1fe54-58ed-7d9f-923e-00000004"
)

// trailText is a trail with all kinds of attestations: review is an override of nothing, lint is missing, scan is
// overridden, and the test fails and is unexpected.
const trailText = `{"name":"t1","description":"` + script + `","created_at":1793610900.5,"last_modified_at":1793611900.5,"created_by":"` + script + `",
	"origin_url":"` + link + `","external_urls":{"` + script + `":{"href":"` + link + `"},"ok":{"href":"https://ci.example.com/?a=1&b=2"}},
	"user_data":{"note":"` + script + `"},"compliance_state":"NON-COMPLIANT","flow":{"name":"checkout","tags":{}},
	"git_commit_info":{"sha1":"4ab2c0e1f5d9a7b3c8e6f0d1a2b3c4d5e6f70819","message":"` + script + `","author":"` + attribute + `","branch":"main","url":"` + link + `"},
	"compliance_status":{"attestations_statuses":[
		{"attestation_name":"review","attestation_type":"pull_request","attestation_id":"` + reviewID + `","is_compliant":true},
		{"attestation_name":"lint","attestation_type":"generic","attestation_id":null,"is_compliant":null}],
	"artifacts_statuses":{
		"unknown":{"artifact_fingerprint":"` + fingerprint + `","artifact_id":"` + testID + `","status":"NON-COMPLIANT","unexpected":true,"attestations_statuses":[
			{"attestation_name":"` + attribute + `","attestation_type":"junit","attestation_id":"` + testID + `","is_compliant":false,"unexpected":true}]},
		"api":{"artifact_fingerprint":"` + fingerprint + `","artifact_id":"` + scanID + `","status":"COMPLIANT","attestations_statuses":[
			{"attestation_name":"scan","attestation_type":"snyk","attestation_id":"` + overrideID + `","overridden_attestation_id":"` + scanID + `","is_compliant":true}]},
		"web":{"artifact_fingerprint":null,"artifact_id":null,"status":"MISSING","attestations_statuses":[]}}},
	"template":{"trail":{"artifacts":[{"name":"api"},{"name":"web"}]}},
	"events":[{"type":"trail_reported","timestamp":1793610900.5},
		{"type":"trail_attestation_reported","timestamp":1793610901.5,"template_reference_name":"` + script + `","attestation_id":"` + reviewID + `","is_compliant":true},
		{"type":"artifact_started_running","timestamp":1793610902.5,"artifact_fingerprint":"` + fingerprint + `","environment_name":"production","current_environment_name":"live","snapshot_index":7},
		{"type":"artifact_started_running","timestamp":1793610903.5,"environment_name":"removed","snapshot_index":8}]}`

const (
	reviewText = `{"attestation_id":"` + reviewID + `","attestation_name":"review","attestation_type":"pull_request","is_compliant":true,"created_at":1793610901.5,
		"reported_by":"` + script + `","flow_name":"checkout","trail_name":"t1","reason":"` + script + `","overridden_attestation_id":null}`
	overrideText = `{"attestation_id":"` + overrideID + `","attestation_name":"scan","attestation_type":"snyk","is_compliant":true,"created_at":1793610901.5,
		"reported_by":"grace","flow_name":"checkout","trail_name":"t1","reason":"accepted risk","overridden_attestation_id":"` + scanID + `"}`
	scanText = `{"attestation_id":"` + scanID + `","attestation_name":"scan","attestation_type":"snyk","is_compliant":false,"created_at":1793610901.5,
		"reported_by":"robot","flow_name":"checkout","trail_name":"t1","description":"` + script + `","origin_url":"` + link + `",
		"artifact_fingerprint":"` + fingerprint + `","evidence_archive_fingerprint":"` + fingerprint + `"}`
	testText = `{"attestation_id":"` + testID + `","attestation_name":"` + attribute + `","attestation_type":"junit","is_compliant":false,"created_at":1793610901.5,
		"reported_by":"robot","flow_name":"checkout","trail_name":"t1","evidence_archive_fingerprint":"` + fingerprint + `",
		"junit_results":[{"name":"a","total":120,"failures":2,"errors":0,"skipped":1},{"name":"b","total":8}]}`
)

func trailAPI(t *testing.T) *fakeAPI {
	t.Helper()
	return newFakeAPI(t, cannedAnswers{
		"GET /trails/acme/checkout/t1": canned(trailText),
		"GET /log/acme/entries":        canned(`{"entries":[{"fact":"attestation/` + reviewID + `","index":41}]}`),
		"GET /attestations/acme":       canned(`{"data":[` + reviewText + `,` + overrideText + `,` + scanText + `,` + testText + `],"_links":{}}`),
	})
}

func TestTrailIsShownBesideItsTemplate(t *testing.T) {
	api := trailAPI(t)
	shown := api.open(t, "/acme/flows/checkout/trails/t1")
	shown.has(t, "Something fails.", `id="attestation-`+reviewID+`"`, "overridden", "nothing had been reported", "missing", "nothing yet",
		"2 of 128 tests failed, 1 skipped: a", "Record the attestation, of type generic, in this trail.",
		"Put right what it found and attest again", "Report the artifact to this trail.", "accepted risk", "in place of", "?attestation_id="+scanID, "unexpected", "It was not reported.",
		`href="/api/v2/attestations/acme/checkout/trail/t1/attestation/`+testID+`/evidence" download`,
		`href="https://ci.example.com/?a=1&amp;b=2"`, "javascript:alert(1)", `href="/acme/flows/checkout/trails/t1/package"`,
		`<a href="/acme/environments/live/snapshots/7"><bdi>production</bdi> #7</a>`, "in <bdi>removed</bdi> #8", "started running",
		`<a href="/api/v2/log/acme/proof/attestation/`+reviewID+`" download>logged as entry 41</a>`)
	verdict, own := strings.Index(shown.text, "Something fails."), strings.Index(shown.text, "The trail itself")
	expected, more := strings.Index(shown.text, "<bdi>web</bdi>"), strings.LastIndex(shown.text, "<bdi>unknown</bdi>")
	if verdict > own || expected > more {
		t.Errorf("verdict at %d, trail at %d, web at %d, unknown at %d", verdict, own, expected, more)
	}
	if strings.Index(shown.text, "started running") > strings.Index(shown.text, "trail reported") {
		t.Error("the newest event is not the first")
	}
	if len(api.queries) != 3 {
		t.Errorf("asked %v", api.queries)
	}
}

func TestRequestedAttestationIsShown(t *testing.T) {
	const path = "/acme/flows/checkout/trails/t1?attestation_id="
	api := trailAPI(t)
	api.open(t, path+overrideID).has(t, `aria-current="true"`, `href="#attestation-`+overrideID+`"`, "accepted risk")
	if len(api.queries) != 3 || strings.Count(api.queries[2].Target, overrideID) != 1 {
		t.Errorf("the attestation is not read once: %v", api.queries)
	}
	trailAPI(t).open(t, path+scanID).has(t, "It has no row below", "Download its evidence", "&lt;script&gt;alert(1)&lt;/script&gt;", "javascript:alert(1)")
	trailAPI(t).open(t, path+testID).has(t, "What was judged", "[{&#34;name&#34;:&#34;a&#34;,&#34;total&#34;:120")
	trailAPI(t).open(t, path+"nowhere").has(t, "This trail has no attestation <bdi>nowhere</bdi>.")
}

func TestAttestationOfAnotherTrailIsNotShown(t *testing.T) {
	api := trailAPI(t)
	api.answers["GET /attestations/acme"] = canned(`{"data":[` + strings.Replace(scanText, `"trail_name":"t1"`, `"trail_name":"t2"`, 1) + `]}`)
	api.open(t, "/acme/flows/checkout/trails/t1?attestation_id="+scanID).has(t, "This trail has no attestation <bdi>"+scanID+"</bdi>.")
}

func TestLongTrailsStaySmall(t *testing.T) {
	var artifacts, events []string
	for i := range 300 {
		name := fmt.Sprintf("a%03d%s", i, strings.Repeat("x", 100))
		artifacts = append(artifacts, fmt.Sprintf(`"%s":{"artifact_fingerprint":"%s","artifact_id":"%s","status":"COMPLIANT","attestations_statuses":[
			{"attestation_name":"%s-test","attestation_type":"junit","attestation_id":"id-%d","is_compliant":true}]}`, name, fingerprint, testID, name, i))
		events = append(events, fmt.Sprintf(`{"type":"trail_attestation_reported","timestamp":%d,"template_reference_name":"%s","attestation_id":"id-%d","is_compliant":true}`, 1793610900+i, name, i))
	}
	api := newFakeAPI(t, cannedAnswers{
		"GET /trails/acme/checkout/t1": canned(`{"name":"t1","flow":{"name":"checkout"},"compliance_state":"COMPLIANT","compliance_status":{"artifacts_statuses":{` +
			strings.Join(artifacts, ",") + `}},"events":[` + strings.Join(events, ",") + `]}`),
	})
	api.answers["GET /attestations/acme"] = canned(`{"data":[]}`)
	api.open(t, "/acme/flows/checkout/trails/t1").has(t, "The latest 100 of 300", `href="?from=25"`, "300 artifacts in all")
	if len(api.queries) != 3 {
		t.Errorf("asked %d times", len(api.queries))
	}
	api.open(t, "/acme/flows/checkout/trails/t1?from=25").has(t, `href="?from=0"`, `href="?from=50"`, "<bdi>a025")
}

func TestAttestationOfSeveralArtifactsHasOneLinkTarget(t *testing.T) {
	const shared = `{"artifact_fingerprint":null,"status":"MISSING","attestations_statuses":[
		{"attestation_name":"scan","attestation_type":"snyk","attestation_id":"` + overrideID + `","is_compliant":true}]}`
	api := trailAPI(t)
	api.answers["GET /trails/acme/checkout/t1"] = canned(`{"name":"t1","flow":{"name":"checkout"},"compliance_state":"COMPLIANT",
		"compliance_status":{"artifacts_statuses":{"a":` + shared + `,"b":` + shared + `}}}`)
	shown := api.open(t, "/acme/flows/checkout/trails/t1?attestation_id="+overrideID)
	if n := strings.Count(shown.text, `id="attestation-`); n != 1 {
		t.Errorf("%d rows can be led to", n)
	}
	if n := strings.Count(shown.text, `aria-current="true"`); n != 2 {
		t.Errorf("%d rows are marked", n)
	}
}

func TestTrailBeginsWithTheArtifactOfTheRequestedAttestation(t *testing.T) {
	var artifacts []string
	for i := range 60 {
		id := fmt.Sprintf("id-%d", i)
		if i == 55 {
			id = scanID
		}
		artifacts = append(artifacts, fmt.Sprintf(`"a%02d":{"status":"MISSING","attestations_statuses":[{"attestation_name":"scan","attestation_id":"%s","is_compliant":true}]}`, i, id))
	}
	api := trailAPI(t)
	api.answers["GET /trails/acme/checkout/t1"] = canned(`{"name":"t1","flow":{"name":"checkout"},"compliance_state":"INCOMPLETE",
		"compliance_status":{"artifacts_statuses":{` + strings.Join(artifacts, ",") + `}}}`)
	api.open(t, "/acme/flows/checkout/trails/t1?attestation_id="+scanID).has(t, `<tr id="attestation-`+scanID+`" class="asked"`, `href="#attestation-`+scanID+`"`)
}
