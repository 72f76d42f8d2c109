package workload

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"attestry/storage/governance"
)

const rulesPerPolicy = 10

// policyContent returns a policy of ten rules. Half of them apply to each artifact of a flow, and are satisfied.
func policyContent(number int) []byte {
	content := "_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n" +
		"  provenance: {required: true, exceptions: [{if: \"${{ matches(artifact.name, 'kube-system/') }}\"}]}\n" +
		"  trail-compliance: {required: true, exceptions: [{if: \"${{ flow.tags.kind == 'manual' }}\"}]}\n  attestations:\n"
	for rule := range rulesPerPolicy - 2 {
		content += fmt.Sprintf("    - {type: generic, name: check-%d, if: \"${{ flow.tags.kind in ['release', 'hotfix'] and artifact.name != 'legacy-%d' }}\"}\n", rule, number)
	}
	return []byte(content)
}

func policyName(number int) string { return "policy-" + strconv.Itoa(number) }

// seedPolicies stores policies without attaching them.
func seedPolicies(ctx context.Context, f *fixture, policies int) error {
	for number := range policies {
		_, err := f.store.Policies.Put(ctx, governance.Change{
			Org: f.org, Name: policyName(number), By: organization, At: 1, Content: policyContent(number),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// attachedPolicies is how many policies stay attached in reevaluate.
const attachedPolicies = 5

// assertArtifact asserts an artifact in an environment with size policies.
func assertArtifact(c *client) (service, baseline requests, err error) {
	trail := "trail-" + strconv.Itoa(c.number)
	fingerprint := digest(c.scope, trail, 0)
	if _, err := c.connection.send(c.artifactReport(trail, fingerprint)); err != nil {
		return nil, nil, err
	}
	environment, err := c.createEnvironment(c.connection, "asserted-"+strconv.Itoa(c.number))
	if err != nil {
		return nil, nil, err
	}
	if _, err := c.connection.send(c.changePolicies(environment, c.size)); err != nil {
		return nil, nil, err
	}
	next := always(request{
		method: http.MethodGet, path: c.path("/asserts/{org}/fingerprint/" + fingerprint + "?environment_name=" + environment),
		want: answer{status: http.StatusOK},
	})
	return next, next, nil
}

// admittedContainers is how many containers the pod of admitPod has.
const admittedContainers = 10

// admitPod requests the admission of a pod to an environment with size policies.
func admitPod(c *client) (service, baseline requests, err error) {
	name := "admitted-" + strconv.Itoa(c.number)
	var containers []string
	for i := range admittedContainers {
		fingerprint := digest(c.scope, name, i)
		if _, err := c.connection.send(c.artifactReport(name, fingerprint)); err != nil {
			return nil, nil, err
		}
		containers = append(containers, fmt.Sprintf(`{"name":"c%d","image":"registry.example.com/team/component@sha256:%s"}`, i, fingerprint))
	}
	environment, err := c.createEnvironment(c.connection, name)
	if err != nil {
		return nil, nil, err
	}
	if _, err := c.connection.send(c.changePolicies(environment, c.size)); err != nil {
		return nil, nil, err
	}
	settings := request{
		method: http.MethodPut, path: c.path("/environments/{org}/" + environment + "/admission"), body: []byte(`{"mode":"deny"}`),
		want: answer{status: http.StatusOK},
	}
	if _, err := c.connection.send(settings); err != nil {
		return nil, nil, err
	}
	next := always(request{
		method: http.MethodPost, path: c.path("/admission/{org}/" + environment + "/validate"), want: answer{status: http.StatusOK},
		body: []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"group":"","version":"v1","kind":"Pod"},
			"namespace":"team","operation":"CREATE","object":{"metadata":{"name":"web","namespace":"team"},"spec":{"containers":[` + strings.Join(containers, ",") + `]}}}}`),
	})
	return next, always(request{method: http.MethodPatch, body: []byte("{}")}), nil
}

// reevaluate attaches and detaches a policy in turn, while others stay attached.
func reevaluate(c *client) (service, baseline requests, err error) {
	name := "policed-" + strconv.Itoa(c.number)
	if _, _, err := c.reports(name, c.scope, c.size, noChange); err != nil {
		return nil, nil, err
	}
	environment, attached := c.scope+"-"+name, 0
	if _, err := c.connection.send(c.changePolicies(environment, attachedPolicies)); err != nil {
		return nil, nil, err
	}
	next := func() request {
		attached++
		return c.changePolicies(environment, attachedPolicies+attached%2)
	}
	return next, next, nil
}

// changePolicies replaces the policies of an environment by the first ones.
func (c *client) changePolicies(environment string, policies int) request {
	names := make([]string, 0, policies)
	for number := range policies {
		names = append(names, strconv.Quote(policyName(number)))
	}
	return request{
		method: http.MethodPatch, path: c.path("/environments/{org}/" + environment), body: []byte(`{"policies":[` + strings.Join(names, ",") + `]}`),
		want: answer{http.StatusOK, `"OK"`},
	}
}
