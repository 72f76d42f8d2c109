package admission_test

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/peers"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

// gatekeeperName is the name in the certificate that Gatekeeper issues to itself.
const gatekeeperName = "gatekeeper-webhook-service.gatekeeper-system.svc"

// TestGatekeeperRuleWorksAsDocumented evaluates the rule of docs/admission.md with the engine of Gatekeeper, which
// authenticates with its certificate.
func TestGatekeeperRuleWorksAsDocumented(t *testing.T) {
	t.Parallel()
	program := os.Getenv("ATTESTRY_TEST_GATEKEEPER")
	if program == "" {
		t.Skip("scripts/test --long runs the engine of Gatekeeper")
	}
	ours := peers.NewAuthority(t)
	caFile, _ := peers.WriteCertificate(t, tls.Certificate{Certificate: [][]byte{ours.Certificate.Raw}, PrivateKey: ours.Key})
	certFile, keyFile, _ := peers.ServerCertificate(t)
	settings := []string{"ATTESTRY_TLS_CERT_FILE=" + certFile, "ATTESTRY_TLS_KEY_FILE=" + keyFile}
	document, err := os.ReadFile("../../docs/admission.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range regexp.MustCompile("(?m)^ATTESTRY_TLS_CLIENT_.*$").FindAllString(string(document), -1) {
		settings = append(settings, strings.ReplaceAll(line, "/etc/attestry/gatekeeper-ca.crt", caFile))
	}
	s := apitest.StartOnAnyEngine(t, apitest.Options{Settings: settings})
	s.CreateEnvironment("production", evidence.K8S)
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.Attach("production", "provenance")
	s.ReportArtifact("shop", "build-1", "web", apitest.DigestOf("web"), strings.Repeat("a", 40))
	s.SetAdmission("production", `{"mode":"deny"}`)
	s.Want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.Org, []byte(`{"name":"gatekeeper","privilege":"snapshotter"}`))
	content, err := os.ReadFile(certFile)
	s.Must(err)
	k := &cluster{t: t, service: s, folder: t.TempDir(), address: s.URL, authority: base64.StdEncoding.EncodeToString(content)}
	shownFile, shownKey := peers.WriteCertificate(t, ours.Client(t, gatekeeperName, gatekeeperName))
	strangerFile, strangerKey := peers.WriteCertificate(t, ours.Client(t, "stranger"))
	review := func(cert, key, images string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), program,
			"-provider", k.write("provider.yaml", k.documented(t, "yaml", "kind: Provider")),
			"-rule", k.write("rule.rego", k.documented(t, "rego", "package attestry")),
			"-object", k.write("pod.json", images), "-cert", cert, "-key", key)
		printed, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, printed)
		}
		return string(printed)
	}
	apitest.Equal(t, review(shownFile, shownKey, apitest.Pod("", knownImage)), "", "a compliant pod has the violations")
	if got := review(shownFile, shownKey, apitest.Pod("", knownImage, unknownImage)); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, unknownImage+": ") ||
		!strings.Contains(got, "provenance") {
		t.Errorf("a pod without provenance has the violations %q", got)
	}
	for _, member := range []string{
		`"initContainers":[{"name":"init","image":%q}]`, `"ephemeralContainers":[{"name":"debug","image":%q}]`,
		`"volumes":[{"name":"files","image":{"reference":%q}}]`,
	} {
		object := fmt.Sprintf(`{"spec":{"containers":[{"image":%q}],`+member+`}}`, knownImage, unknownImage)
		if got := review(shownFile, shownKey, object); !strings.HasPrefix(got, unknownImage+": ") {
			t.Errorf("a pod with %s without provenance has the violations %q", member, got)
		}
	}
	evidencetest.Contains(t, review(strangerFile, strangerKey, apitest.Pod("", knownImage)), "answers 401")
}
