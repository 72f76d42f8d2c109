package main

import (
	"net/http"

	"attestry/scripts/client"
	"attestry/scripts/fixtures"
)

// What the pipeline builds.
const (
	demoFingerprint = "62bd363c808f722d109b64e12d0aece4a8449e7037be2ef4d004ce1e46c48758" // it runs after the rollout
	demoCommit      = "4ab2c0e1f5d9a7b3c8e6f0d1a2b3c4d5e6f70819"
)

func (d *demonstration) pipeline() []step {
	attestations := "/attestations/" + demoOrganization + "/" + d.flow + "/trail/" + d.trail
	ofArtifact := `"artifact_fingerprint":"` + demoFingerprint + `"`
	showTrail := d.read("read the trail", "/trails/"+demoOrganization+"/"+d.flow+"/"+d.trail, "trail")
	return []step{
		d.form("declare a flow: what must be known of a release", http.MethodPut, "/flows/"+demoOrganization+"/template_file",
			field{"data_json", `{"name":"` + d.flow + `","description":"The checkout service"}`}, "template_file", fixtures.FlowTemplate),
		d.form("begin a trail", http.MethodPut, "/trails/"+demoOrganization+"/"+d.flow,
			field{"data_json", `{"name":"` + d.trail + `","description":"Release 2.0.0"}`}, "", nil),
		d.form("the tests of the artifact to come have passed", http.MethodPost, attestations+"/junit",
			field{"data_json", `{"attestation_name":"unit-test","target_artifacts":["api"],"git_commit_info":{"sha1":"` + demoCommit + `"},` +
				`"junit_results":[{"name":"checkout","total":128,"failures":0,"errors":0,"skipped":2,"duration":41.5}]}`},
			"attachment_file", fixtures.JUnitResults),
		d.send("report the artifact", http.MethodPost, "/artifacts/"+demoOrganization+"/"+d.flow,
			[]byte(`{"fingerprint":"`+demoFingerprint+`","filename":"registry.example.com/storefront/cart:2.0.0","git_commit":"`+demoCommit+`",`+
				`"build_url":"https://ci.example.com/runs/77","commit_url":"https://git.example.com/commit/`+demoCommit+`",`+
				`"trail_name":"`+d.trail+`","template_reference_name":"api"}`), http.StatusCreated),
		d.form("a scan finds a weakness", http.MethodPost, attestations+"/snyk",
			field{"data_json", `{"attestation_name":"container-scan",` + ofArtifact + `,"snyk_results":{"tool":{"name":"Snyk Container","version":"1.1296.2"},` +
				`"results":[{"high_count":1,"medium_count":0,"low_count":3}]}}`}, "", nil),
		showTrail,
		d.send("somebody answers for it", http.MethodPost, attestations+"/override",
			[]byte(`{"attestation_name":"container-scan",`+ofArtifact+`,"reason":"Not reachable, see RISK-12","new_compliance_status":true,"original_attestation_type":"snyk"}`),
			http.StatusOK),
		showTrail,
	}
}

// field is the part of a form that has the data.
type field struct{ name, content string }

// form sends a form with its data and, if name is not "", a file.
func (d *demonstration) form(what, method, path string, data field, name string, file []byte) step {
	body, contentType := client.EncodeForm(data.name, data.content, name, file)
	return d.sendAs(contentType, what, method, path, body, http.StatusCreated)
}
