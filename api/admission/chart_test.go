package admission_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"attestry/api/apitest"
)

const chart = "../../deploy/helm/"

// nextSteps are texts that Helm prints after it installs the chart with the values of a test.
var nextSteps = map[string]string{
	"standalone":             "kubectl --namespace evidence logs attestry-0 | grep 'API key'",
	"standalone-ingress":     "Attestry 0.1.0 answers at https://evidence.example.com\n",
	"cluster":                "There are no users until a bootstrap file names some",
	"cluster-full":           "Attestry 0.1.0 answers at https://evidence.example.com\n",
	"admission-cert-manager": "The name of the user in that kubeconfig is attestry.evidence.svc.",
	"admission-certificate":  "The name of the user in that kubeconfig is attestry.evidence.svc:8443.",
}

// takesTheChart checks that the cluster accepts without errors and warnings the objects that the chart installs with
// the values of its tests. The namespace admits only pods with the security standard "restricted".
func (k *cluster) takesTheChart() {
	k.t.Helper()
	helm := os.Getenv("ATTESTRY_TEST_HELM")
	if helm == "" {
		return
	}
	k.apply(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"evidence","labels":{
		"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/warn":"restricted"}}}`)
	k.defineKind("cert-manager.io", "v1", "Certificate")
	k.defineKind("gateway.networking.k8s.io", "v1", "HTTPRoute")
	k.defineKind("monitoring.coreos.com", "v1", "ServiceMonitor")
	for name, text := range nextSteps {
		values := chart + "testdata/" + name + ".values.yaml"
		install := exec.CommandContext(k.t.Context(), helm, "install", "attestry", chart+"attestry", "--namespace", "evidence", "--values", values,
			"--dry-run=server", "--kubeconfig", filepath.Join(k.folder, "kubeconfig"))
		if printed, err := install.CombinedOutput(); err != nil || !strings.Contains(string(printed), text) {
			k.t.Errorf("Helm does not install %s: %v: there is no %q in\n%s", name, err, text, printed)
		}
		printed, err := k.command("", "create", "--namespace", "evidence", "--dry-run=server", "-f", chart+"testdata/"+name+".golden.yaml")
		if err != nil || !strings.Contains(printed, "created (server dry run)") || strings.Contains(printed, "Warning") {
			k.t.Errorf("the cluster does not accept %s: %v: %s", name, err, printed)
		}
	}
}

// defineKind defines a custom kind. Groups of k8s.io require the annotation with an approval.
func (k *cluster) defineKind(group, version, kind string) {
	k.t.Helper()
	plural := strings.ToLower(kind) + "s"
	k.apply(fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]s.%[2]s",
		"annotations":{"api-approved.kubernetes.io":"https://github.com/kubernetes/enhancements"}},
		"spec":{"group":%[2]q,"scope":"Namespaced","names":{"plural":%[1]q,"kind":%[3]q},"versions":[{"name":%[4]q,"served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`, plural, group, kind, version))
	apitest.Eventually(k.t, "the cluster knows "+kind, func() bool {
		_, err := k.command("", "get", plural+"."+group)
		return err == nil
	})
}
