package workload

import (
	"fmt"
	"net/http"
	"strconv"

	api "attestry/scripts/clienttest"
)

var recorded = answer{http.StatusCreated, `{"message":"OK"}`}

// attest reports an artifact to one trail for all clients or, if own, to one for each client. Each request attests it by
// its fingerprint.
func attest(own bool) setup {
	return func(c *client) (service, baseline requests, err error) {
		trail := "trail"
		if own {
			trail += "-" + strconv.Itoa(c.number)
		}
		fingerprint := digest(c.scope, trail, 0)
		if _, err := c.connection.send(c.artifactReport(trail, fingerprint)); err != nil {
			return nil, nil, err
		}
		body, contentType := attestationForm(fingerprint)
		next := always(request{
			method: http.MethodPost, path: c.path("/attestations/{org}/{flow}/trail/" + trail + "/generic"),
			contentType: contentType, body: body, want: created,
		})
		return next, next, nil
	}
}

func attestationForm(fingerprint string) (body []byte, contentType string) {
	return api.EncodeForm("data_json", `{"attestation_name":"unit-test","is_compliant":true,"artifact_fingerprint":"`+fingerprint+
		`","git_commit_info":{"sha1":"`+fingerprint[:40]+`","message":"Change the colour of the button","author":"A. Person <person@example.com>",`+
		`"branch":"main","timestamp":1750923680,"url":"https://github.com/org/repo/commit/`+fingerprint[:40]+
		`"},"origin_url":"https://github.com/org/repo/actions/runs/1","user_data":{}}`, "", nil)
}

// reportArtifacts reports a new artifact to a new trail with each request.
func reportArtifacts(c *client) (service, baseline requests, err error) {
	name, sent := "artifact-"+strconv.Itoa(c.number), 0
	next := func() request {
		sent++
		return c.artifactReport(name+"-"+strconv.Itoa(sent), digest(c.scope, name, sent))
	}
	return next, next, nil
}

func (c *client) artifactReport(trail, fingerprint string) request {
	return request{method: http.MethodPost, path: c.path("/artifacts/{org}/{flow}"), want: recorded, body: fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"registry.example.com/team/component:1.4.2","git_commit":%q,`+
			`"build_url":"https://github.com/org/repo/actions/runs/1","commit_url":"https://github.com/org/repo/commit/%s",`+
			`"trail_name":%q,"template_reference_name":"component"}`, fingerprint, fingerprint[:40], fingerprint[:40], trail)}
}

// getArtifacts looks up artifacts spread over the flow.
func getArtifacts(c *client) (service, baseline requests, err error) {
	path, sent := c.path("/artifacts/{org}/{flow}/fingerprint/"), 0
	next := func() request {
		sent++
		fingerprint := digest(c.scope, firstVersion, sent*7919%c.size)
		return request{method: http.MethodGet, path: path + fingerprint[:12], want: answer{status: http.StatusOK}}
	}
	return next, next, nil
}
