package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"

	"attestry/scripts/fixtures"
)

// policyFile requires provenance of the shop's cart alone, as the pipeline builds nothing else, and attestations of
// everything that a flow builds.
func policyFile(control string) []byte {
	return []byte(`_schema: https://kosli.com/schemas/policy/environment/v1
artifacts:
  provenance:
    required: true
    exceptions:
      - if: ${{ not matches(artifact.name, "registry.example.com/storefront/cart:") }}
  attestations:
    - {type: snyk, name: container-scan, if: "${{ exists(flow) }}"}
    - {type: decision, for_control: ` + control + `, if: "${{ exists(flow) }}"}
`)
}

func (d *demonstration) policy() []step {
	policy, control := "production-"+d.run, "RELEASE-"+d.run
	explain := d.read("is the environment compliant, and if not, why?", "/snapshots/"+demoOrganization+"/"+d.environment+"/-1?explain=true", "explanation")
	return []step{
		d.send("create a control, which decisions are recorded on", http.MethodPost, "/controls/"+demoOrganization,
			[]byte(`{"identifier":"`+control+`","name":"Every release is agreed"}`), http.StatusCreated),
		d.form("store a policy: what may run in production", http.MethodPut, "/policies/"+demoOrganization,
			field{"payload", `{"name":"` + policy + `"}`}, "policy_file", policyFile(control)),
		d.send("attach it to the environment, which is evaluated at once", http.MethodPost,
			"/environments/"+demoOrganization+"/"+d.environment+"/policies", []byte(`{"policy_names":["`+policy+`"]}`), http.StatusOK),
		explain,
		d.form("somebody decides", http.MethodPost, "/attestations/"+demoOrganization+"/"+d.flow+"/trail/"+d.trail+"/system",
			field{"data_json", `{"attestation_name":"go-live","type_name":"decision","control":"` + control + `","artifact_fingerprint":"` + demoFingerprint +
				`","description":"Agreed in the release meeting","attestation_data":{"is_compliant":true}}`}, "", nil),
		d.report("the next report shows it", fixtures.K8SReport2Rollout, http.StatusCreated),
		explain,
		d.read("a pipeline asks whether it may deploy the artifact",
			"/asserts/"+demoOrganization+"/fingerprint/"+demoFingerprint+"?environment_name="+d.environment, "assertion"),
		d.audit,
	}
}

func (d *demonstration) audit(ctx context.Context) error {
	content, err := d.call(ctx, "an auditor gets everything about the trail in one file", http.MethodGet,
		"/trails/"+demoOrganization+"/"+d.flow+"/"+d.trail+"/audit_package", "", nil, http.StatusOK)
	if err == nil {
		fmt.Fprintf(d.out, "     %d bytes, SHA-256 %x\n     go run ./scripts/verify-package verifies it\n", len(content), sha256.Sum256(content))
	}
	return err
}
