package governance_test

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

	"attestry/api/apitest"
	"attestry/evidence"
)

const noSigningKey = "No signing key is configured, so verdicts are not signed"

func startSigning(t *testing.T) *apitest.Service {
	t.Helper()
	return apitest.Start(t, apitest.Options{Settings: []string{apitest.NewSigningKey(t)}})
}

// publicKey reads the public key without an API key.
func publicKey(s *apitest.Service) (key, hint string) {
	s.T.Helper()
	got := s.Do(http.MethodGet, "/api/v2/signing-key", "", nil)
	if got.Status != http.StatusOK {
		s.T.Fatalf("the key is answered %d %s", got.Status, got.Body)
	}
	body := got.Value(s.T)
	return apitest.Lookup(s.T, body, "public_key").(string), apitest.Lookup(s.T, body, "hint").(string)
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
func verified(s *apitest.Service, file, query string) any {
	s.T.Helper()
	var bundle bundleBody
	s.Want(http.StatusOK, http.MethodGet, s.AssertPath(file, "/vsa"+query), nil).Decode(s.T, &bundle)
	key, hint := publicKey(s)
	block, _ := pem.Decode([]byte(key))
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	s.Must(err)
	payload, err := base64.StdEncoding.DecodeString(bundle.DSSEEnvelope.Payload)
	s.Must(err)
	signature, err := base64.StdEncoding.DecodeString(bundle.DSSEEnvelope.Signatures[0].Sig)
	s.Must(err)
	digest := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 28 application/vnd.in-toto+json %d %s", len(payload), payload))
	if !ecdsa.VerifyASN1(public.(*ecdsa.PublicKey), digest[:], signature) {
		s.T.Errorf("%s is not signed with the key", payload)
	}
	if bundle.MediaType != "application/vnd.dev.sigstore.bundle.v0.3+json" || bundle.VerificationMaterial.PublicKey.Hint != hint ||
		bundle.DSSEEnvelope.PayloadType != "application/vnd.in-toto+json" || len(bundle.DSSEEnvelope.Signatures) != 1 {
		s.T.Errorf("the bundle is %+v", bundle)
	}
	var statement any
	s.Must(json.Unmarshal(payload, &statement))
	return statement
}

// wantVerdict compares the result, the address of the policy and the applied policies of a signed verdict, and checks
// that the verdict agrees with the assert.
func wantVerdict(s *apitest.Service, file, query, want string) {
	s.T.Helper()
	statement := verified(s, file, query)
	predicate := apitest.Lookup(s.T, statement, "predicate")
	policy := apitest.Lookup(s.T, predicate, "policy")
	uri := apitest.Lookup(s.T, policy, "uri").(string)
	address := strings.TrimPrefix(uri, s.URL+"/api/v2")
	got := []string{fmt.Sprint(apitest.Lookup(s.T, predicate, "verificationResult"), " by ", strings.Replace(address, s.Org, "org", 1))}
	var digests []any
	for _, applied := range apitest.Lookup(s.T, policy, "annotations", "policies").([]any) {
		got = append(got, fmt.Sprint(apitest.Lookup(s.T, applied, "name"), " ", apitest.Lookup(s.T, applied, "version")))
		digests = append(digests, apitest.Lookup(s.T, applied, "digest"))
		s.Read(strings.TrimPrefix(apitest.Lookup(s.T, applied, "uri").(string), s.URL+"/api/v2"))
	}
	if digest := policy.(map[string]any)["digest"]; digest != nil {
		got = append(got, fmt.Sprint("digest ", apitest.AsJSON(digest) == apitest.AsJSON(digests[0])))
	}
	if allowed := apitest.Lookup(s.T, policy, "annotations").(map[string]any)["allowlist_id"]; allowed != nil {
		got = append(got, fmt.Sprint("allowed ", allowed == apitest.Lookup(s.T, s.Read(s.AssertPath(file, query)), "allow_listing", "allowlist_id")))
	}
	apitest.Equal(s.T, strings.Join(got, ", "), want, file, query)
	passed := apitest.Lookup(s.T, predicate, "verificationResult") == "PASSED"
	if apitest.Lookup(s.T, s.Read(s.AssertPath(file, query)), "compliant") != passed {
		s.T.Errorf("%s is signed as %s", query, apitest.AsJSON(predicate))
	}
	s.Read(address)
}

func TestVerdictsAreSignedInEachScope(t *testing.T) {
	t.Parallel()
	s := startSigning(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("open", evidence.Server)
	s.CreateEnvironment("staging", evidence.Server)
	s.ReportFile("build", "web")
	s.ReportFile("promote", "web")
	s.AttestGeneric("trail-of-web", "tested", false, "")
	s.StorePolicy("provenance", "provenance: {required: false}")
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.StorePolicy("trails", "trail-compliance: {required: true}")
	s.Attach("prod", "provenance", "trails")
	s.Attach("staging", "provenance")

	wantVerdict(s, "web", "", "FAILED by /flows/org")
	wantVerdict(s, "web", "?flow_name=promote", "PASSED by /flows/org/promote")
	wantVerdict(s, "web", "?flow_name=build", "FAILED by /flows/org/build")
	wantVerdict(s, "web", "?environment_name=open", "FAILED by /environments/org/open")
	wantVerdict(s, "web", "?environment_name=open&flow_name=promote", "PASSED by /flows/org/promote")
	wantVerdict(s, "web", "?environment_name=staging", "PASSED by /environments/org/staging, provenance 2")
	wantVerdict(s, "web", "?environment_name=prod", "FAILED by /environments/org/prod, provenance 2, trails 1")
	wantVerdict(s, "web", "?environment_name=prod&flow_name=promote", "FAILED by /environments/org/prod, provenance 2, trails 1")
	wantVerdict(s, "web", "?policy_name=trails&policy_name=provenance", "FAILED by /policies/org?policy_name=provenance&policy_name=trails, trails 1, provenance 2")
	wantVerdict(s, "web", "?policy_name=provenance", "PASSED by /policies/org/provenance, provenance 2, digest true")
	s.AllowArtifact("prod", "web", "Agreed with security")
	wantVerdict(s, "web", "?environment_name=prod", "PASSED by /environments/org/prod, provenance 2, trails 1, allowed true")
	s.Want(http.StatusOK, http.MethodPut, "/flows/"+s.Org+"/promote/rename", []byte(`{"new_name":"release"}`))
	wantVerdict(s, "web", "?flow_name=promote", "PASSED by /flows/org/release")
}

func TestSignedVerdictIsASummaryOfTheArtifact(t *testing.T) {
	t.Parallel()
	s := startSigning(t)
	s.ReportFile("build", "web")
	rule := "provenance: {required: true}"
	s.StorePolicy("provenance", rule)
	statement := verified(s, "web", "?policy_name=provenance")
	at := apitest.Lookup(t, statement, "predicate", "timeVerified").(string)
	if verified, err := time.Parse(time.RFC3339, at); err != nil || time.Since(verified).Abs() > time.Hour {
		t.Errorf("it was verified at %s", at)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte("_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n  "+rule+"\n")))
	policy := s.URL + "/api/v2/policies/" + s.Org + "/provenance"
	fingerprint := evidence.HashAPIKey("web")
	var want any
	s.Must(json.Unmarshal(fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"web","digest":{"sha256":%q}}],
		"predicateType":"https://slsa.dev/verification_summary/v1","predicate":{"verifier":{"id":%q},"timeVerified":%q,"resourceUri":%q,
		"policy":{"uri":%q,"digest":{"sha256":%q},"annotations":{"policies":[{"name":"provenance","version":1,"uri":%q,"digest":{"sha256":%q}}]}},
		"verificationResult":"PASSED","verifiedLevels":["SLSA_BUILD_LEVEL_UNEVALUATED"],"slsaVersion":"1.1"}}`,
		fingerprint, s.URL, at, s.URL+"/api/v2/asserts/"+s.Org+"/fingerprint/"+fingerprint, policy, digest, policy, digest), &want))
	apitest.Equal(t, apitest.AsJSON(statement), apitest.AsJSON(want))
}

func TestSignedVerdictNamesTheLogEntriesOfItsInputs(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Settings: []string{apitest.NewSigningKey(t), apitest.LogKeyFile(t)}})
	s.ReportFile("build", "web")
	s.ReportFile("promote", "web")
	s.AttestGeneric("trail-of-web", "tested", true, "")
	s.StorePolicy("tests", "attestations: [{type: generic, name: tested}]")
	s.AwaitLogged(s.Org)

	predicate := apitest.Lookup(t, verified(s, "web", "?policy_name=tests"), "predicate")
	checkEntry := func(fact string, index any) (entry string) {
		t.Helper()
		if found := apitest.Lookup(t, s.Read("/log/"+s.Org+"/entries?facts="+url.QueryEscape(fact)), "entries", 0, "index"); found != index {
			t.Errorf("%s is at %v, not at %v", fact, index, found)
		}
		kind, id, _ := strings.Cut(fact, "/")
		return apitest.Lookup(t, s.Read("/log/"+s.Org+"/proof/"+kind+"/"+id), "entry").(string)
	}
	checkEntry("policy/tests:1", apitest.Lookup(t, predicate, "policy", "annotations", "policies", 0, "log_index"))
	inputs := apitest.Lookup(t, predicate, "inputAttestations").([]any)
	if len(inputs) != 1 {
		t.Fatalf("the inputs are %s", apitest.AsJSON(inputs))
	}
	address := apitest.Lookup(t, inputs[0], "uri").(string)
	attestation, ours := strings.CutPrefix(address, s.URL+"/api/v2/log/"+s.Org+"/proof/")
	entry := checkEntry(attestation, apitest.Lookup(t, inputs[0], "annotations", "log_index"))
	if !ours || apitest.Lookup(t, inputs[0], "digest", "sha256") != fmt.Sprintf("%x", sha256.Sum256([]byte(entry))) {
		t.Errorf("the input is %s, its entry %s", apitest.AsJSON(inputs[0]), entry)
	}

	if one := apitest.Lookup(t, verified(s, "web", "?flow_name=promote"), "predicate").(map[string]any); one["inputAttestations"] != nil {
		t.Errorf("the flow without attestations has the inputs %s", apitest.AsJSON(one["inputAttestations"]))
	}
}

func TestSignedVerdictsHaveTheErrorsOfAsserts(t *testing.T) {
	t.Parallel()
	s := startSigning(t)
	s.ReportFile("build", "web")
	s.CreateEnvironment("prod", evidence.Server)
	for _, query := range []string{"?flow_name=no", "?environment_name=no", "?policy_name=no", "?environment_name=prod&policy_name=no", "?polcy_name=%zz"} {
		asserted := s.Do(http.MethodGet, "/api/v2"+s.AssertPath("web", query), apitest.ReaderKey, nil)
		signed := s.Do(http.MethodGet, "/api/v2"+s.AssertPath("web", "/vsa"+query), apitest.ReaderKey, nil)
		if signed.Status < http.StatusBadRequest || signed.Status != asserted.Status || !bytes.Equal(signed.Body, asserted.Body) {
			t.Errorf("%s: %d %s, the assert %d %s", query, signed.Status, signed.Body, asserted.Status, asserted.Body)
		}
	}
	s.WantError(http.StatusNotFound, "Artifact with fingerprint '"+evidence.HashAPIKey("db")+"' does not exist in organization '"+s.Org+"'",
		http.MethodGet, s.AssertPath("db", "/vsa"), "")
	for key, status := range map[string]int{"": http.StatusUnauthorized, apitest.StrangerKey: http.StatusForbidden, apitest.ReaderKey: http.StatusOK} {
		apitest.WantAnswer(t, s.Do(http.MethodGet, "/api/v2"+s.AssertPath("web", "/vsa"), key, nil), status)
	}
}

func TestNothingIsSignedWithoutAKey(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportFile("build", "web")
	s.WantError(http.StatusNotFound, noSigningKey, http.MethodGet, s.AssertPath("web", "/vsa"), "")
	s.WantError(http.StatusNotFound, noSigningKey, http.MethodGet, "/signing-key", "")
}

// verifyBundle runs a verifier and returns whether it accepts a bundle, and its output. The folder contains a PEM file
// of the public key. payload is the payload that was signed.
type verifyBundle func(t *testing.T, folder, bundle, payload string) (accepted bool, output string)

// TestSigstoreVerifiesVerdicts verifies a bundle and altered copies of it with sigstore's verifier in JavaScript.
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
	s := apitest.Start(t, apitest.Options{Real: true, Settings: []string{apitest.NewSigningKey(t)}})
	s.ReportFile("build", "web")
	key, hint := publicKey(s)
	content := string(s.Want(http.StatusOK, http.MethodGet, s.AssertPath("web", "/vsa"), nil).Body)
	var bundle bundleBody
	s.Must(json.Unmarshal([]byte(content), &bundle))
	payload, err := base64.StdEncoding.DecodeString(bundle.DSSEEnvelope.Payload)
	s.Must(err)
	edited := base64.StdEncoding.EncodeToString(bytes.Replace(payload, []byte("PASSED"), []byte("FAILED"), 1))
	for name, test := range map[string]struct{ bundle, reason string }{
		"as it is":             {content, ""},
		"with another payload": {strings.Replace(content, bundle.DSSEEnvelope.Payload, edited, 1), "signature"},
		"with another type":    {strings.Replace(content, "application/vnd.in-toto+json", "application/vnd.in-toto+jsn", 1), "signature"},
		"with another hint":    {strings.Replace(content, hint, hint[1:], 1), anotherHint},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s.Must(os.WriteFile(filepath.Join(folder, "public.pem"), []byte(key), 0o600))
			accepted, output := verify(t, folder, test.bundle, string(payload))
			if accepted != (test.reason == "") || !strings.Contains(output, test.reason) {
				t.Errorf("accepted: %v: %s", accepted, output)
			}
		})
	}
}
