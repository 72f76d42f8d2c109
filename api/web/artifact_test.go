package web

import (
	"fmt"
	"strings"
	"testing"
)

const artifactPath = "/acme/flows/checkout/artifacts/" + fingerprint

func artifactText(id, trail, running string) string {
	return `{"id":"` + id + `","trail_name":"` + trail + `","template_reference_name":"api","fingerprint":"` + fingerprint + `","filename":"` + script + `",
		"git_commit":"4ab2c0e1f5d9a7b3c8e6f0d1a2b3c4d5e6f70819","git_commit_info":null,"commit_url":"` + link + `","build_url":"` + link + `","created_at":1793611080.5,
		"external_urls":{"` + script + `":{"href":"` + link + `"}},"state":"COMPLIANT","state_info":"` + script + `","flow_name":"checkout",
		"running":[` + running + `],"exited":[{"environment_name":"staging","snapshot_index":4}],
		"history":[{"event":"Artifact created","timestamp":1793611080.5},{"event":"` + script + ` evidence received","timestamp":1793611081.5}]}`
}

func artifactAPI(t *testing.T) *fakeAPI {
	t.Helper()
	return newFakeAPI(t, cannedAnswers{
		"GET /artifacts/acme/checkout/fingerprint/" + fingerprint:               canned(artifactText("new", "t2", `{"environment_name":"production","snapshot_index":9}`)),
		"GET /artifacts/acme/checkout/fingerprint/" + fingerprint + "?trail=t1": canned(artifactText("old", "t1", "")),
		"GET /asserts/acme/fingerprint/" + fingerprint + "?flow_name=checkout": canned(
			`{"compliance_status":{"attestations_statuses":[{"attestation_name":"scan","attestation_type":"snyk","attestation_id":"` + scanID + `","is_compliant":false}]}}`),
		"GET /asserts/acme/fingerprint/" + fingerprint + "/explanation?environment_name=production": canned(
			`{"compliant":false,"explanation":[{"failing":true,"text":"` + script + `","remedy":"` + attribute + `"}]}`),
		"GET /deployments/acme/production/" + fingerprint: canned(`{"deployed_at":1793612280.5,"snapshot_index":2,"diff_url":"https://github.com/acme/checkout/compare/a...b","lead_time_seconds":90.4,
			"replaced_artifact":{"fingerprint":"` + fingerprint + `","artifact_name":"` + script + `","artifact":{"flow_name":"checkout","git_commit":"0ab2c0e1f5d9","git_commit_info":null}}}`),
		"GET /attestations/acme": canned(`{"data":[` + scanText + `]}`),
		"GET /log/acme/entries":  canned(`{"entries":[{"fact":"artifact/new","index":3}]}`),
		"GET /trails/acme?fingerprint=" + fingerprint + "&flow=checkout&per_page=100": canned(`{"data":[{"name":"t1","compliance_status":{"artifacts_statuses":{"api":
			{"artifact_id":"old","attestations_statuses":[{"attestation_name":"scan","attestation_type":"snyk","attestation_id":"` + scanID + `","is_compliant":true}]}}}}]}`),
	})
}

func TestArtifactIsShown(t *testing.T) {
	api := artifactAPI(t)
	api.open(t, artifactPath).has(t, `data-copy="`+fingerprint+`"`, `href="/acme/environments/production/snapshots/9"`, "not compliant",
		`href="/acme/environments/staging/snapshots/4"`, `href="https://github.com/acme/checkout/compare/a...b"`, "1.5 min after its commit", "0ab2c0e1f5d9",
		`href="/api/v2/artifacts/acme/checkout/`+fingerprint+`/audit_package"`, `/attestation/`+scanID+`/evidence" download`, "robot", "javascript:alert(1)",
		`<a href="/api/v2/log/acme/proof/artifact/new" download>logged as entry 3</a>`)
	if len(api.queries) != 6 {
		t.Errorf("asked %v", api.queries)
	}
}

func TestEarlierReportOfAnArtifactIsShown(t *testing.T) {
	artifactAPI(t).open(t, artifactPath+"?artifact_id=old").has(t, "This is an earlier report", `href="/acme/flows/checkout/trails/t1"`, "It runs nowhere.")
	artifactAPI(t).open(t, artifactPath+"?artifact_id=new").has(t, `href="/acme/flows/checkout/trails/t2"`)
	artifactAPI(t).open(t, artifactPath+"?artifact_id=other").has(t, "none of the latest", `href="/acme/flows/checkout/trails/t2"`)
}

// TestReportUnderAnotherNameIsNotShownForAnEarlierOne asks for a record whose trail has a newer one of the artifact.
func TestReportUnderAnotherNameIsNotShownForAnEarlierOne(t *testing.T) {
	api := artifactAPI(t)
	api.answers["GET /artifacts/acme/checkout/fingerprint/"+fingerprint+"?trail=t1"] = canned(artifactText("other-name", "t1", ""))
	shown := api.open(t, artifactPath+"?artifact_id=old")
	shown.has(t, "none of the latest", `href="/acme/flows/checkout/trails/t2"`)
	shown.lacks(t, "This is an earlier report", `href="/acme/flows/checkout/trails/t1"`)
}

func TestVerdictsAreRequestedForFewEnvironments(t *testing.T) {
	api, running := artifactAPI(t), []string{}
	for i := range 12 {
		running = append(running, fmt.Sprintf(`{"environment_name":"e%d","snapshot_index":1}`, i))
		api.answers[fmt.Sprintf("GET /asserts/acme/fingerprint/%s/explanation?environment_name=e%d", fingerprint, i)] = canned(`{"compliant":true}`)
	}
	api.answers["GET /artifacts/acme/checkout/fingerprint/"+fingerprint] = canned(artifactText("new", "t2", strings.Join(running, ",")))
	api.open(t, artifactPath).has(t, "Where it runs as well", `href="/acme/environments/e11/snapshots/1"`)
	if len(api.queries) != 4+2*maxPlaces {
		t.Errorf("asked %d times", len(api.queries))
	}
}
