package admission_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/peers"
	"attestry/evidence"
)

// Images with a compliant trail, with a failing trail, and without a trail.
var (
	knownImage   = "registry.example.com/shop/web@sha256:" + apitest.DigestOf("web")
	brokenImage  = "registry.example.com/shop/broken@sha256:" + apitest.DigestOf("broken")
	unknownImage = "registry.example.com/shop/intruder@sha256:" + apitest.DigestOf("intruder")
)

// admissionDocument returns the code blocks of a language in docs/admission.md, in order.
func admissionDocument(t *testing.T, language string) []string {
	t.Helper()
	content, err := os.ReadFile("../../docs/admission.md")
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, found := range regexp.MustCompile("(?ms)^( *)```"+language+"\n(.*?)^ *```$").FindAllStringSubmatch(string(content), -1) {
		parts = append(parts, strings.ReplaceAll("\n"+found[2], "\n"+found[1], "\n")[1:])
	}
	return parts
}

// documented returns the code block of docs/admission.md that contains a text, with its placeholders replaced by the
// values of the cluster.
func (k *cluster) documented(t *testing.T, language, text string) string {
	t.Helper()
	for _, part := range admissionDocument(t, language) {
		if strings.Contains(part, text) {
			return strings.NewReplacer("https://attestry.example.com", k.address, "name: attestry.example.com", "name: "+strings.TrimPrefix(k.address, "https://"),
				"/etc/kubernetes/", k.folder+"/", "THE-KEY", k.key, "THE-CERTIFICATE-AUTHORITY-IN-BASE64", k.authority,
				"# caBundle: the certificate authority in base64, if it is not a public one", "caBundle: "+k.authority,
				"# certificate-authority-data: the certificate authority in base64, if it is not a public one", "certificate-authority-data: "+k.authority).Replace(part)
		}
	}
	t.Fatalf("docs/admission.md has no %q", text)
	return ""
}

// cluster is an API server of Kubernetes with its database.
type cluster struct {
	t       *testing.T
	service *apitest.Service
	// folder contains the files of the cluster. address, key and authority (in base64) are those of the service.
	folder, address, key, authority string
	kubectl                         string // path
}

// run starts a program and kills it at the end of the test.
func (k *cluster) run(program string, args ...string) {
	k.t.Helper()
	var output bytes.Buffer
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if k.t.Failed() {
			k.t.Log(program, output.String()[max(0, output.Len()-4000):])
		}
	})
}

func (k *cluster) write(name, content string) (path string) {
	k.t.Helper()
	path = filepath.Join(k.folder, name)
	apitest.WriteFile(k.t, path, content)
	return path
}

// start runs etcd and kube-apiserver, configured as in docs/admission.md.
func (k *cluster) start(programs string) {
	k.t.Helper()
	etcd, peer, server := apitest.FreeAddress(k.t), apitest.FreeAddress(k.t), apitest.FreeAddress(k.t)
	k.run("etcd", "--data-dir", filepath.Join(k.folder, "etcd"), "--listen-client-urls", "http://"+etcd, "--advertise-client-urls", "http://"+etcd,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer)
	k.write("attestry-kubeconfig.yaml", k.documented(k.t, "yaml", "token: THE-KEY"))
	// ImagePolicyWebhook uses another environment, so that it does not deny the objects that test the other webhook.
	k.write("attestry-images.yaml", strings.ReplaceAll(k.documented(k.t, "yaml", "/image-review"), "/production/", "/images/"))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		k.t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		k.t.Fatal(err)
	}
	accounts := k.write("accounts.pem", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})))
	_, port, _ := strings.Cut(server, ":")
	k.run(filepath.Join(programs, "kube-apiserver"), "--etcd-servers=http://"+etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port="+port, "--cert-dir="+filepath.Join(k.folder, "certs"), "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+accounts, "--service-account-signing-key-file="+accounts,
		"--authorization-mode=RBAC", "--token-auth-file="+k.write("tokens.csv", "admin-token,deployer,1,system:masters\n"),
		"--disable-admission-plugins=ServiceAccount", "--enable-admission-plugins=ImagePolicyWebhook",
		"--admission-control-config-file="+k.write("admission.yaml", k.documented(k.t, "yaml", "kind: AdmissionConfiguration")+k.documented(k.t, "yaml", "name: ImagePolicyWebhook")))
	k.write("kubeconfig", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"test","contexts":[{"name":"test","context":{"cluster":"test","user":"test"}}],
		"clusters":[{"name":"test","cluster":{"server":"https://%s","insecure-skip-tls-verify":true}}],"users":[{"name":"test","user":{"token":"admin-token"}}]}`, server))
	k.kubectl = filepath.Join(programs, "kubectl")
	apitest.Eventually(k.t, "the cluster has its first namespace", func() bool {
		_, err := k.command("", "get", "namespace", "default")
		return err == nil
	})
}

// command runs kubectl with a file on its standard input and returns its output.
func (k *cluster) command(input string, args ...string) (string, error) {
	command := exec.CommandContext(k.t.Context(), k.kubectl, append([]string{"--kubeconfig", filepath.Join(k.folder, "kubeconfig"), "--cache-dir", filepath.Join(k.folder, "cache")}, args...)...)
	command.Stdin = strings.NewReader(input)
	printed, err := command.CombinedOutput()
	return string(printed), err
}

// created creates an object and checks that it is stored.
func (k *cluster) created(what, object string) {
	k.t.Helper()
	if printed, err := k.command(object, "create", "-f", "-"); err != nil || !strings.Contains(printed, "created") {
		k.t.Errorf("%s: %v: %s", what, err, printed)
	}
}

// refused creates an object and checks that it is denied and that kubectl prints the texts.
func (k *cluster) refused(what, object string, texts ...string) {
	k.t.Helper()
	printed, err := k.command(object, "create", "-f", "-")
	for _, text := range texts {
		if err == nil || !strings.Contains(printed, text) {
			k.t.Errorf("%s: %v: there is no %q in\n%s", what, err, text, printed)
		}
	}
}

// workload returns a Kubernetes object with a pod template.
func workload(version, kind, name, spec, annotations, image string) string {
	template := fmt.Sprintf(`{"metadata":{"labels":{"app":%q},"annotations":{%s}},"spec":{"containers":[{"name":"web","image":%q}]%s}}`,
		name, annotations, image, map[bool]string{true: `,"restartPolicy":"Never"`}[version == "batch/v1"])
	if kind == "CronJob" {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"default"},"spec":{"schedule":"@daily","jobTemplate":{"spec":{"template":%s}}}}`,
			version, kind, name, template)
	}
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"default"},"spec":{%s"template":%s}}`, version, kind, name, spec, template)
}

func runningPod(name, annotations, image string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"default","annotations":{%s}},"spec":{"containers":[{"name":"web","image":%q}]}}`,
		name, annotations, image)
}

// TestKubernetesAdmissionWorksAsDocumented runs a real API server that is configured as in docs/admission.md.
func TestKubernetesAdmissionWorksAsDocumented(t *testing.T) {
	t.Parallel()
	programs := os.Getenv("ATTESTRY_TEST_KUBERNETES")
	if programs == "" {
		t.Skip("scripts/test --long runs the API server of Kubernetes")
	}
	certFile, keyFile, _ := peers.ServerCertificate(t)
	hooks := peers.NewReceivers(t)
	s := apitest.StartOnAnyEngine(t, apitest.Options{Settings: append(hooks.Settings(), "ATTESTRY_TLS_CERT_FILE="+certFile, "ATTESTRY_TLS_KEY_FILE="+keyFile)})
	content, err := os.ReadFile(certFile)
	s.Must(err)
	k := &cluster{t: t, service: s, folder: t.TempDir(), address: recorded(t, s.URL), key: s.AccountKey(s.Org, "cluster", evidence.Snapshotter), authority: base64.StdEncoding.EncodeToString(content)}
	s.CreateEnvironment("production", evidence.K8S)
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.Attach("production", "provenance")
	s.ReportArtifact("shop", "build-1", "web", apitest.DigestOf("web"), strings.Repeat("a", 40))
	s.SetAdmission("production", `{"mode":"deny","break_glass":"attestry.example.com/reason"}`)
	s.CreateEnvironment("images", evidence.K8S)
	s.StorePolicy("trails", "trail-compliance: {required: true}")
	s.Attach("images", "trails")
	s.SetAdmission("images", `{"mode":"deny","unknown_artifacts":"admit",
		"break_glass":"attestry.image-policy.k8s.io/reason"}`)
	s.ReportArtifact("shop", "build-2", "broken", apitest.DigestOf("broken"), strings.Repeat("b", 40))
	s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Org+"/shop/trail/build-2/generic", `{"attestation_name":"scan","is_compliant":false}`)
	k.start(programs)
	k.takesTheChart()
	k.testImagePolicy()
	k.testWebhook(hooks)
}

// testImagePolicy tests ImagePolicyWebhook.
func (k *cluster) testImagePolicy() {
	k.refused("a pod of a failing trail", runningPod("broken", "", brokenImage), "image policy webhook", "scan", page(k.service, "environments/images"))
	k.created("a pod of a failing trail with a reason",
		runningPod("mended", `"attestry.image-policy.k8s.io/reason":"INC-8: mend"`, brokenImage))
	k.created("a pod of a compliant trail", runningPod("first", "", knownImage))
}

// testWebhook tests the validating webhook of docs/admission.md.
func (k *cluster) testWebhook(hooks *peers.Receivers) {
	k.t.Helper()
	s, webhook := k.service, k.documented(k.t, "yaml", "kind: ValidatingWebhookConfiguration")
	k.apply(webhook)
	apitest.Eventually(k.t, "the webhook is called", func() bool {
		_, err := k.command(runningPod("dry", "", unknownImage), "create", "--dry-run=server", "-f", "-")
		return err != nil
	})
	targets, _, _ := hooks.Targets(1)
	s.Want(http.StatusCreated, http.MethodPut, "/actions/"+s.Org+"/environments", fmt.Appendf(nil,
		`{"name":"glass","type":"env","environments":["production"],"triggers":["ON_ADMISSION_BREAK_GLASS"],"targets":%s}`, targets))

	const denied, selector = `admission webhook "admission.attestry.example.com" denied the request`, `"selector":{"matchLabels":{"app":"web"}},`
	k.created("a compliant pod", runningPod("web", "", knownImage))
	k.refused("a pod without provenance", runningPod("intruder", "", unknownImage), denied, unknownImage, "provenance", page(s, "environments/production"))
	for kind, row := range map[string]struct{ version, spec string }{
		"Deployment": {"apps/v1", selector}, "StatefulSet": {"apps/v1", selector + `"serviceName":"web",`}, "DaemonSet": {"apps/v1", selector},
		"ReplicaSet": {"apps/v1", selector}, "Job": {"batch/v1", ""}, "CronJob": {"batch/v1", ""},
	} {
		k.refused(kind+" without provenance", workload(row.version, kind, "web", row.spec, "", unknownImage), denied, unknownImage)
		k.created("a compliant "+kind, workload(row.version, kind, "web", row.spec, "", knownImage))
	}
	k.testChanges()
	k.created("a pod with a reason", runningPod("urgent", `"attestry.example.com/reason":"INC-7: roll back"`, unknownImage))
	apitest.Eventually(k.t, "the receiver gets a delivery", func() bool { return len(hooks.At("/hook-0")) > 0 })
	lines := s.AdmissionLines("production")
	for _, line := range []string{
		"break_glass Pod default urgent deployer 1 INC-7: roll back 1\n", "denied Pod default intruder deployer 1 <nil> 1\n", "denied Deployment default web deployer",
		"denied CronJob default web deployer 1 <nil> 1\n",
	} {
		if !strings.Contains(lines, line) || strings.Contains(lines, " dry ") {
			k.t.Errorf("there is no %q in\n%s", line, lines)
		}
	}
	s.SetAdmission("production", `{"mode":"warn"}`)
	if printed, err := k.command(runningPod("warned", "", unknownImage), "create", "-f", "-"); err != nil || !strings.Contains(printed, "Warning: ") {
		k.t.Errorf("%v: there is no warning: %s", err, printed)
	}
	s.Restart(func() {
		k.created("a pod while the service is stopped", runningPod("away", "", unknownImage))
		k.apply(strings.Replace(webhook, "failurePolicy: Ignore", "failurePolicy: Fail", 1))
		apitest.Eventually(k.t, "the other policy is in force", func() bool {
			_, err := k.command(runningPod("dry", "", knownImage), "create", "--dry-run=server", "-f", "-")
			return err != nil
		})
		k.refused("a pod while the service is stopped", runningPod("late", "", knownImage), "failed calling webhook")
	})
}

func (k *cluster) apply(object string) {
	k.t.Helper()
	if printed, err := k.command(object, "apply", "-f", "-"); err != nil {
		k.t.Fatalf("%v: %s", err, printed)
	}
}

// testChanges changes running objects: another image, another scale, and an ephemeral container for debugging.
func (k *cluster) testChanges() {
	k.t.Helper()
	if printed, err := k.command("", "set", "image", "deployment/web", "web="+unknownImage); err == nil || !strings.Contains(printed, unknownImage) {
		k.t.Errorf("a Deployment gets an image without provenance: %v: %s", err, printed)
	}
	if printed, err := k.command("", "scale", "deployment/web", "--replicas=3"); err != nil {
		k.t.Errorf("a Deployment is not scaled: %v: %s", err, printed)
	}
	for _, image := range []string{unknownImage, knownImage} {
		running, err := k.command("", "get", "pod", "web", "-o", "json")
		if err != nil {
			k.t.Fatal(err, running)
		}
		debugged := strings.Replace(running, `"spec": {`, `"spec": {"ephemeralContainers":[{"name":"debug","image":"`+image+`"}],`, 1)
		printed, err := k.command(debugged, "replace", "--raw", "/api/v1/namespaces/default/pods/web/ephemeralcontainers", "-f", "-")
		if denied := err != nil && strings.Contains(printed, "denied the request") && strings.Contains(printed, image); denied != (image == unknownImage) || !denied && err != nil {
			k.t.Errorf("a container for debugging with %s: %v: %s", image, err, printed)
		}
	}
}
