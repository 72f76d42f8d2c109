// Package clienttest has requests of pipelines, clusters and auditors for scripts/faults, scripts/load and tests.
package clienttest

import (
	"fmt"
	"net/http"
	"strings"
)

// JSON returns a request with a body in JSON.
func JSON(method, path, format string, args ...any) Request {
	return Request{Method: method, Path: path, ContentType: "application/json", Body: fmt.Appendf(nil, format, args...)}
}

// Form returns a request with a form: its data and, if file is not "", a file in a field of that name.
func Form(method, path, field, data, file string, content []byte) Request {
	body, contentType := EncodeForm(field, data, file, content)
	return Request{Method: method, Path: path, ContentType: contentType, Body: body}
}

// CreateEnvironment creates a cluster.
func CreateEnvironment(name string) Request {
	return JSON(http.MethodPut, "/environments/{org}", `{"name": %q, "type": "K8S", "description": "A cluster"}`, name)
}

// BeginTrail begins a trail in a flow.
func BeginTrail(flow, trail string) Request {
	return Form(http.MethodPut, "/trails/{org}/"+flow, "data_json", fmt.Sprintf(`{"name": %q}`, trail), "", nil)
}

// ReportArtifact reports an artifact to a trail, with a mark in its user data.
func ReportArtifact(flow, trail, fingerprint, mark string) Request {
	return JSON(http.MethodPost, "/artifacts/{org}/"+flow, `{"fingerprint": %q, "filename": "registry.example.com/team/web:1.4.2",
		"git_commit": %q, "build_url": "https://ci.example.com/runs/1", "commit_url": "https://git.example.com/commit/1",
		"trail_name": %q, "template_reference_name": "web", "user_data": {"mark": %q}}`, fingerprint, fingerprint[:40], trail, mark)
}

// Attest attests an artifact, or a trail if the fingerprint is "", with a mark in its user data and, unless evidence is
// empty, an evidence file.
func Attest(flow, trail, fingerprint, name, mark string, compliant bool, evidence []byte) Request {
	of, file := "", ""
	if fingerprint != "" {
		of = fmt.Sprintf(`"artifact_fingerprint": %q, `, fingerprint)
	}
	if len(evidence) > 0 {
		file = "attachment_file"
	}
	return Form(http.MethodPost, "/attestations/{org}/"+flow+"/trail/"+trail+"/generic", "data_json",
		fmt.Sprintf(`{"attestation_name": %q, "is_compliant": %t, %s"user_data": {"mark": %q}}`, name, compliant, of, mark), file, evidence)
}

// ReportCluster reports that a cluster runs the images with these fingerprints and no others.
func ReportCluster(environment string, fingerprints ...string) Request {
	pods := make([]string, 0, len(fingerprints))
	for i, fingerprint := range fingerprints {
		pods = append(pods, fmt.Sprintf(`{"digests": {"registry.example.com/team/web:%[2]d": %[1]q}, "podName": "web-%[2]d", "namespace": "team",
			"creationTimestamp": 1793613000, "owners": []}`, fingerprint, i))
	}
	return JSON(http.MethodPut, "/environments/{org}/"+environment+"/report/K8S", `{"type": "K8S", "artifacts": [%s]}`, strings.Join(pods, ","))
}
