package e2e_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/signing"
)

const noSigningKey = "No signing key is configured, so verdicts are not signed"

// newSigningKey generates a key and returns the setting with its file.
func newSigningKey(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "signing-key.pem")
	content, err := signing.NewKey()
	if err == nil {
		err = os.WriteFile(file, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "ATTESTRY_SIGNING_KEY_FILE=" + file
}

func startSigning(t *testing.T) *service {
	t.Helper()
	return start(t, options{settings: []string{newSigningKey(t)}})
}

// publicKey reads the public key without an API key.
func (s *service) publicKey() (key, hint string) {
	s.t.Helper()
	got := s.do(http.MethodGet, "/api/v2/signing-key", "", nil)
	if got.status != http.StatusOK {
		s.t.Fatalf("the key is answered %d %s", got.status, got.body)
	}
	body := got.value(s.t)
	return lookup(s.t, body, "public_key").(string), lookup(s.t, body, "hint").(string)
}

// bundleBody is a sigstore bundle with a DSSE envelope.
type bundleBody struct {
	MediaType            string
	VerificationMaterial struct{ PublicKey struct{ Hint string } }
	DSSEEnvelope         struct {
		Payload, PayloadType string
		Signatures           []struct{ Sig string }
	} `json:"dsseEnvelope"`
}

// verified reads a signed verdict, verifies it without the packages that sign verdicts, and returns the statement.
func (s *service) verified(file, query string) any {
	s.t.Helper()
	var bundle bundleBody
	s.want(http.StatusOK, http.MethodGet, s.assertPath(file, "/vsa"+query), nil).decode(s.t, &bundle)
	key, hint := s.publicKey()
	block, _ := pem.Decode([]byte(key))
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	s.must(err)
	payload, err := base64.StdEncoding.DecodeString(bundle.DSSEEnvelope.Payload)
	s.must(err)
	signature, err := base64.StdEncoding.DecodeString(bundle.DSSEEnvelope.Signatures[0].Sig)
	s.must(err)
	digest := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 28 application/vnd.in-toto+json %d %s", len(payload), payload))
	if !ecdsa.VerifyASN1(public.(*ecdsa.PublicKey), digest[:], signature) {
		s.t.Errorf("%s is not signed with the key", payload)
	}
	if bundle.MediaType != "application/vnd.dev.sigstore.bundle.v0.3+json" || bundle.VerificationMaterial.PublicKey.Hint != hint ||
		bundle.DSSEEnvelope.PayloadType != "application/vnd.in-toto+json" || len(bundle.DSSEEnvelope.Signatures) != 1 {
		s.t.Errorf("the bundle is %+v", bundle)
	}
	var statement any
	s.must(json.Unmarshal(payload, &statement))
	return statement
}

// wantVerdict compares the result, the address of the policy and the applied policies of a signed verdict, and checks
// that the verdict agrees with the assert.
func (s *service) wantVerdict(file, query, want string) {
	s.t.Helper()
	statement := s.verified(file, query)
	predicate := lookup(s.t, statement, "predicate")
	policy := lookup(s.t, predicate, "policy")
	uri := lookup(s.t, policy, "uri").(string)
	address := strings.TrimPrefix(uri, s.URL+"/api/v2")
	got := []string{fmt.Sprint(lookup(s.t, predicate, "verificationResult"), " by ", strings.Replace(address, s.org, "org", 1))}
	var digests []any
	for _, applied := range lookup(s.t, policy, "annotations", "policies").([]any) {
		got = append(got, fmt.Sprint(lookup(s.t, applied, "name"), " ", lookup(s.t, applied, "version")))
		digests = append(digests, lookup(s.t, applied, "digest"))
		s.read(strings.TrimPrefix(lookup(s.t, applied, "uri").(string), s.URL+"/api/v2"))
	}
	if digest := policy.(map[string]any)["digest"]; digest != nil {
		got = append(got, fmt.Sprint("digest ", asJSON(digest) == asJSON(digests[0])))
	}
	if allowed := lookup(s.t, policy, "annotations").(map[string]any)["allowlist_id"]; allowed != nil {
		got = append(got, fmt.Sprint("allowed ", allowed == lookup(s.t, s.read(s.assertPath(file, query)), "allow_listing", "allowlist_id")))
	}
	if got := strings.Join(got, ", "); got != want {
		s.t.Errorf("%s%s: %s\nwant %s", file, query, got, want)
	}
	passed := lookup(s.t, predicate, "verificationResult") == "PASSED"
	if lookup(s.t, s.read(s.assertPath(file, query)), "compliant") != passed {
		s.t.Errorf("%s is signed as %s", query, asJSON(predicate))
	}
	s.read(address)
}

func TestVerdictsAreSignedInEachScope(t *testing.T) {
	t.Parallel()
	s := startSigning(t)
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironment("open", evidence.Server)
	s.createEnvironment("staging", evidence.Server)
	s.reportFile("build", "web")
	s.reportFile("promote", "web")
	s.attestGeneric("trail-of-web", "tested", false, "")
	s.storePolicy("provenance", "provenance: {required: false}")
	s.storePolicy("provenance", "provenance: {required: true}")
	s.storePolicy("trails", "trail-compliance: {required: true}")
	s.attach("prod", "provenance", "trails")
	s.attach("staging", "provenance")

	s.wantVerdict("web", "", "FAILED by /flows/org")
	s.wantVerdict("web", "?flow_name=promote", "PASSED by /flows/org/promote")
	s.wantVerdict("web", "?flow_name=build", "FAILED by /flows/org/build")
	s.wantVerdict("web", "?environment_name=open", "FAILED by /environments/org/open")
	s.wantVerdict("web", "?environment_name=open&flow_name=promote", "PASSED by /flows/org/promote")
	s.wantVerdict("web", "?environment_name=staging", "PASSED by /environments/org/staging, provenance 2")
	s.wantVerdict("web", "?environment_name=prod", "FAILED by /environments/org/prod, provenance 2, trails 1")
	s.wantVerdict("web", "?environment_name=prod&flow_name=promote", "FAILED by /environments/org/prod, provenance 2, trails 1")
	s.wantVerdict("web", "?policy_name=trails&policy_name=provenance", "FAILED by /policies/org?policy_name=provenance&policy_name=trails, trails 1, provenance 2")
	s.wantVerdict("web", "?policy_name=provenance", "PASSED by /policies/org/provenance, provenance 2, digest true")
	s.allowArtifact("prod", "web", "Agreed with security")
	s.wantVerdict("web", "?environment_name=prod", "PASSED by /environments/org/prod, provenance 2, trails 1, allowed true")
	s.want(http.StatusOK, http.MethodPut, "/flows/"+s.org+"/promote/rename", []byte(`{"new_name":"release"}`))
	s.wantVerdict("web", "?flow_name=promote", "PASSED by /flows/org/release")
}

func TestSignedVerdictIsASummaryOfTheArtifact(t *testing.T) {
	t.Parallel()
	s := startSigning(t)
	s.reportFile("build", "web")
	rule := "provenance: {required: true}"
	s.storePolicy("provenance", rule)
	statement := s.verified("web", "?policy_name=provenance")
	at := lookup(t, statement, "predicate", "timeVerified").(string)
	if verified, err := time.Parse(time.RFC3339, at); err != nil || time.Since(verified).Abs() > time.Hour {
		t.Errorf("it was verified at %s", at)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte("_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n  "+rule+"\n")))
	policy := s.URL + "/api/v2/policies/" + s.org + "/provenance"
	fingerprint := evidence.HashAPIKey("web")
	var want any
	s.must(json.Unmarshal(fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"web","digest":{"sha256":%q}}],
		"predicateType":"https://slsa.dev/verification_summary/v1","predicate":{"verifier":{"id":%q},"timeVerified":%q,"resourceUri":%q,
		"policy":{"uri":%q,"digest":{"sha256":%q},"annotations":{"policies":[{"name":"provenance","version":1,"uri":%q,"digest":{"sha256":%q}}]}},
		"verificationResult":"PASSED","verifiedLevels":["SLSA_BUILD_LEVEL_UNEVALUATED"],"slsaVersion":"1.1"}}`,
		fingerprint, s.URL, at, s.URL+"/api/v2/asserts/"+s.org+"/fingerprint/"+fingerprint, policy, digest, policy, digest), &want))
	if asJSON(statement) != asJSON(want) {
		t.Errorf("it is %s\nnot %s", asJSON(statement), asJSON(want))
	}
}

func TestSignedVerdictNamesTheLogEntriesOfItsInputs(t *testing.T) {
	t.Parallel()
	s := start(t, options{settings: []string{newSigningKey(t), logKeyFile(t)}})
	s.reportFile("build", "web")
	s.reportFile("promote", "web")
	s.attestGeneric("trail-of-web", "tested", true, "")
	s.storePolicy("tests", "attestations: [{type: generic, name: tested}]")
	s.awaitLogged(s.org)

	predicate := lookup(t, s.verified("web", "?policy_name=tests"), "predicate")
	checkEntry := func(fact string, index any) (entry string) {
		t.Helper()
		if found := lookup(t, s.read("/log/"+s.org+"/entries?facts="+url.QueryEscape(fact)), "entries", 0, "index"); found != index {
			t.Errorf("%s is at %v, not at %v", fact, index, found)
		}
		kind, id, _ := strings.Cut(fact, "/")
		return lookup(t, s.read("/log/"+s.org+"/proof/"+kind+"/"+id), "entry").(string)
	}
	checkEntry("policy/tests:1", lookup(t, predicate, "policy", "annotations", "policies", 0, "log_index"))
	inputs := lookup(t, predicate, "inputAttestations").([]any)
	if len(inputs) != 1 {
		t.Fatalf("the inputs are %s", asJSON(inputs))
	}
	address := lookup(t, inputs[0], "uri").(string)
	attestation, ours := strings.CutPrefix(address, s.URL+"/api/v2/log/"+s.org+"/proof/")
	entry := checkEntry(attestation, lookup(t, inputs[0], "annotations", "log_index"))
	if !ours || lookup(t, inputs[0], "digest", "sha256") != fmt.Sprintf("%x", sha256.Sum256([]byte(entry))) {
		t.Errorf("the input is %s, its entry %s", asJSON(inputs[0]), entry)
	}

	if one := lookup(t, s.verified("web", "?flow_name=promote"), "predicate").(map[string]any); one["inputAttestations"] != nil {
		t.Errorf("the flow without attestations has the inputs %s", asJSON(one["inputAttestations"]))
	}
}

func TestSignedVerdictsHaveTheErrorsOfAsserts(t *testing.T) {
	t.Parallel()
	s := startSigning(t)
	s.reportFile("build", "web")
	s.createEnvironment("prod", evidence.Server)
	for _, query := range []string{"?flow_name=no", "?environment_name=no", "?policy_name=no", "?environment_name=prod&policy_name=no", "?polcy_name=%zz"} {
		asserted := s.do(http.MethodGet, "/api/v2"+s.assertPath("web", query), readerKey, nil)
		signed := s.do(http.MethodGet, "/api/v2"+s.assertPath("web", "/vsa"+query), readerKey, nil)
		if signed.status < http.StatusBadRequest || signed.status != asserted.status || !bytes.Equal(signed.body, asserted.body) {
			t.Errorf("%s: %d %s, the assert %d %s", query, signed.status, signed.body, asserted.status, asserted.body)
		}
	}
	s.wantError(http.StatusNotFound, "Artifact with fingerprint '"+evidence.HashAPIKey("db")+"' does not exist in organization '"+s.org+"'",
		http.MethodGet, s.assertPath("db", "/vsa"), "")
	for key, status := range map[string]int{"": http.StatusUnauthorized, strangerKey: http.StatusForbidden, readerKey: http.StatusOK} {
		if got := s.do(http.MethodGet, "/api/v2"+s.assertPath("web", "/vsa"), key, nil); got.status != status {
			t.Errorf("%s is answered %d", userOf(key), got.status)
		}
	}
}

func TestNothingIsSignedWithoutAKey(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportFile("build", "web")
	s.wantError(http.StatusNotFound, noSigningKey, http.MethodGet, s.assertPath("web", "/vsa"), "")
	s.wantError(http.StatusNotFound, noSigningKey, http.MethodGet, "/signing-key", "")
}

// verifyBundle runs a verifier and returns whether it accepts a bundle, and its output. The folder contains a PEM file
// of the public key. payload is the payload that was signed.
type verifyBundle func(t *testing.T, folder, bundle, payload string) (accepted bool, output string)

// TestSigstoreVerifiesVerdicts verifies a bundle and altered copies of it with sigstore's verifier for Node.js.
func TestSigstoreVerifiesVerdicts(t *testing.T) {
	t.Parallel()
	script := os.Getenv("ATTESTRY_TEST_SIGSTORE")
	if script == "" {
		t.Skip("scripts/test --real verifies bundles with sigstore's verifier")
	}
	testBundles(t, "key not found", func(t *testing.T, folder, bundle, payload string) (bool, string) {
		command := exec.CommandContext(t.Context(), "node", script, filepath.Join(folder, "public.pem"))
		command.Stdin = strings.NewReader(bundle)
		output, err := command.CombinedOutput()
		if err == nil && string(output) != payload {
			t.Errorf("it has verified %s", output)
		}
		return err == nil, string(output)
	})
}

// TestCosignVerifiesVerdicts verifies a bundle with cosign by the public key and the artifact, without the certificate
// authorities and the transparency log of sigstore.
func TestCosignVerifiesVerdicts(t *testing.T) {
	t.Parallel()
	cosign := os.Getenv("ATTESTRY_TEST_COSIGN")
	if cosign == "" {
		t.Skip("scripts/test --long verifies bundles with cosign")
	}
	verify := func(t *testing.T, folder, bundle, artifact string) (bool, string) {
		for name, content := range map[string]string{
			"bundle.json": bundle, "artifact": artifact,
			"trusted_root.json": `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`,
		} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		command := exec.CommandContext(t.Context(), cosign, "verify-blob-attestation", "--key", "public.pem", "--bundle", "bundle.json",
			"--new-bundle-format", "--trusted-root", "trusted_root.json", "--insecure-ignore-tlog", "--type", "https://slsa.dev/verification_summary/v1", "artifact")
		command.Dir = folder
		output, err := command.CombinedOutput()
		return err == nil, string(output)
	}
	testBundles(t, "", func(t *testing.T, folder, bundle, _ string) (bool, string) {
		if accepted, output := verify(t, folder, bundle, "another artifact"); accepted {
			t.Errorf("another artifact is accepted: %s", output)
		}
		return verify(t, folder, bundle, "web")
	})
}

// testBundles runs a verifier on the signed verdict of the artifact web and on altered copies of it. anotherHint is the
// reason for which the verifier refuses another key hint, "" if it ignores hints.
func testBundles(t *testing.T, anotherHint string, verify verifyBundle) {
	s := start(t, options{real: true, settings: []string{newSigningKey(t)}})
	s.reportFile("build", "web")
	key, hint := s.publicKey()
	content := string(s.want(http.StatusOK, http.MethodGet, s.assertPath("web", "/vsa"), nil).body)
	var bundle bundleBody
	s.must(json.Unmarshal([]byte(content), &bundle))
	payload, err := base64.StdEncoding.DecodeString(bundle.DSSEEnvelope.Payload)
	s.must(err)
	edited := base64.StdEncoding.EncodeToString(bytes.Replace(payload, []byte("PASSED"), []byte("FAILED"), 1))
	for name, test := range map[string]struct{ bundle, reason string }{
		"as it is":             {content, ""},
		"with another payload": {strings.Replace(content, bundle.DSSEEnvelope.Payload, edited, 1), "signature"},
		"with another type":    {strings.Replace(content, "application/vnd.in-toto+json", "application/vnd.in-toto+jsn", 1), "signature"},
		"with another hint":    {strings.Replace(content, hint, hint[1:], 1), anotherHint},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s.must(os.WriteFile(filepath.Join(folder, "public.pem"), []byte(key), 0o600))
			accepted, output := verify(t, folder, test.bundle, string(payload))
			if accepted != (test.reason == "") || !strings.Contains(output, test.reason) {
				t.Errorf("accepted: %v: %s", accepted, output)
			}
		})
	}
}
