package pipelines_test

import (
	"testing"

	"attestry/api/apitest"
)

// clientReadsTrail is apitest.ClientReads for a trail and its parts.
func clientReadsTrail(t *testing.T, trail any) {
	t.Helper()
	apitest.ClientReads(t, "trail", trail)
	if commit := apitest.Lookup(t, trail, "git_commit_info"); commit != nil {
		apitest.ClientReads(t, "trail.git_commit_info", commit)
	}
	status := apitest.Lookup(t, trail, "compliance_status")
	apitest.ClientReads(t, "trail.compliance_status", status)
	for _, attestation := range apitest.Lookup(t, status, "attestations_statuses").([]any) {
		apitest.ClientReads(t, "attestation_status", attestation)
	}
	for _, artifact := range apitest.Lookup(t, status, "artifacts_statuses").(map[string]any) {
		apitest.ClientReads(t, "artifact_status", artifact)
		for _, attestation := range apitest.Lookup(t, artifact, "attestations_statuses").([]any) {
			apitest.ClientReads(t, "attestation_status", attestation)
		}
	}
	apitest.ClientReadsEach(t, "event", apitest.Lookup(t, trail, "events"))
}
