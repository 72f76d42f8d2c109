package helm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"attestry/scripts/readmetest"
)

// helm runs a command of Helm on the chart, and returns what it prints.
func helm(t *testing.T, command string, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("ATTESTRY_TEST_HELM")
	if program == "" {
		t.Skip("scripts/test --long renders the chart with Helm")
	}
	run := exec.CommandContext(t.Context(), program, append([]string{command}, args...)...)
	printed, err := run.CombinedOutput()
	return string(printed), err
}

// template renders the chart for a release attestry in the namespace evidence.
func template(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return helm(t, "template", append([]string{"attestry", "attestry", "--namespace", "evidence", "--kube-version", "1.30"}, args...)...)
}

// valueSets returns the value files of the tests by name. Each has a golden file beside it.
func valueSets(t *testing.T) map[string]string {
	t.Helper()
	const ending = ".values.yaml"
	found, err := filepath.Glob("testdata/*" + ending)
	if err != nil || len(found) < 6 {
		t.Fatal(err, found)
	}
	sets := map[string]string{}
	for _, file := range found {
		sets[strings.TrimSuffix(filepath.Base(file), ending)] = file
	}
	return sets
}

func goldenFile(set string) string { return "testdata/" + set + ".golden.yaml" }

// TestChartMatchesItsGoldenFiles writes the golden files if ATTESTRY_TEST_UPDATE is set.
func TestChartMatchesItsGoldenFiles(t *testing.T) {
	for set, values := range valueSets(t) {
		t.Run(set, func(t *testing.T) {
			if printed, err := helm(t, "lint", "attestry", "--strict", "--values", values); err != nil {
				t.Error(printed)
			}
			rendered, err := template(t, "--values", values)
			if err != nil {
				t.Fatal(rendered)
			}
			if readmetest.Updating() {
				writeFile(t, goldenFile(set), rendered)
			}
			if rendered != readmetest.Read(t, goldenFile(set)) {
				t.Errorf("the manifests are not those of %s: write them with ATTESTRY_TEST_UPDATE=1 and read the difference", goldenFile(set))
			}
		})
	}
}

func TestChartReportsInvalidValues(t *testing.T) {
	stores := "mode=cluster,settings.databaseUrl=a,settings.objectsUrl=b,"
	for values, reason := range map[string]string{
		"settings.requestTimout=1s":                   "requestTimout",
		"mode=cluster":                                "mode cluster needs databaseUrl in settings or in existingSecrets",
		stores + "existingSecrets.databaseUrl.name=a": "missing property 'key'",
		stores + "existingSecrets.objectsUrl.name=a,existingSecrets.objectsUrl.key=b": "objectsUrl is in settings and in existingSecrets",
		"settings.monitorListen=off":                                    "/settings/monitorListen",
		"api.autoscaling.enabled=true,api.autoscaling.maxReplicas=null": "missing property 'maxReplicas'",
		"ingress.enabled=true":                                          "settings.baseUrl is required",
		"httpRoute.enabled=true":                                        "/httpRoute/parentRefs",
		"tls.enabled=true":                                              "tls needs existingSecret or issuerRef",
		"admission.enabled=true":                                        "admission.organization is required",
		"admission.enabled=true,admission.organization=a,admission.environment=b": "admission needs tls",
	} {
		if printed, err := template(t, "--set", values); err == nil || !strings.Contains(printed, reason) {
			t.Errorf("%s: there is no %q in\n%s", values, reason, printed)
		}
	}
}
