// Package attestations has the operations on attestations, their evidence and their types.
package attestations

import (
	"context"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/attestation"
)

type handlers struct{ *resource.Base }

// Routes returns the routes of attestations and their types. A new type of attestation needs a row here and in the
// table of operations, a body in types.go, the members of its payload in AttestationPayload, and a row in
// attestation.Types.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return server.Routes(map[string]server.Binder{
		"get_custom_attestation_types":    server.Handle(h.listAttestationTypes),
		"post_custom_attestation_type":    server.WithForm("data_json", schemaField, h.postAttestationType),
		"get_custom_attestation_type":     server.Handle(h.getAttestationType),
		"archive_custom_attestation_type": server.Handle(h.archiveAttestationType),
		"list_system_attestation_types":   server.Handle(h.listSystemTypes),
		"post_custom_attestation":         recordAttestation(h, h.evaluateCustom),
		"post_generic_attestation":        recordAttestation(h, h.evaluateGeneric),
		"post_jira_attestation": recordAttestation(h, func(_ context.Context, b *JiraAttestationPostInput) (verdict, error) {
			return evaluateBuiltIn(evidence.TypeJira, &b.AttestationBase, payload{}, b.JiraResults)
		}),
		"post_junit_attestation": recordAttestation(h, func(_ context.Context, b *JUnitAttestationPostInput) (verdict, error) {
			return evaluateBuiltIn(evidence.TypeJUnit, &b.AttestationBase, payload{}, b.JUnitResults)
		}),
		"post_pull_request_attestation": recordAttestation(h, h.evaluatePullRequests),
		"post_snyk_attestation": recordAttestation(h, func(_ context.Context, b *SnykAttestationPostInput) (verdict, error) {
			v, err := evaluateBuiltIn(evidence.TypeSnyk, &b.AttestationBase, payload{}, attestation.ProcessSnyk(b.SnykResults))
			if !v.compliant {
				v.failed = b.SnykResults.Found()
			}
			return v, err
		}),
		"post_sonar_attestation": recordAttestation(h, func(_ context.Context, b *SonarAttestationPostInput) (verdict, error) {
			return evaluateBuiltIn(evidence.TypeSonar, &b.AttestationBase, payload{}, b.SonarResults)
		}),
		"post_system_attestation":        recordAttestation(h, h.evaluateSystem),
		"post_override_attestation":      server.WithBody(h.overrideAttestation),
		"get_attestations":               server.Handle(h.listAttestations),
		"list_attestations_for_criteria": server.Handle(h.listCommitAttestations),
		"get_flow_attestations":          resource.Found(h.ResolveFlow, h.listFlowAttestations),
		"get_artifact_attestation":       resource.Found(h.ResolveFlow, h.getArtifactAttestations),
		"get_trail_attestation":          resource.Found(h.LoadTrail, h.getTrailAttestations),
		"get_attestation_evidence":       resource.Found(h.LoadAttestation, h.getEvidence),
	})
}
