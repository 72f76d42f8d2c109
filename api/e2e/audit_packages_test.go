package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/attestation/attestationtest"
	"attestry/evidence/audit"
)

// verifyPackage verifies an archive as scripts/verify-package does.
func verifyPackage(t *testing.T, archive io.Reader) audit.Result {
	t.Helper()
	unpacked, verifier := tar.NewReader(archive), audit.NewVerifier(attestationtest.Evaluate, audit.DefaultMemory)
	for {
		header, err := unpacked.Next()
		if errors.Is(err, io.EOF) {
			return verifier.Finish()
		}
		if err == nil {
			err = verifier.Add(header.Name, header.Size, unpacked)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// verifyCompressed verifies an archive that is compressed with gzip.
func verifyCompressed(t *testing.T, content []byte) audit.Result {
	t.Helper()
	archive, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return verifyPackage(t, archive)
}

// deliverRelease records a trail of the flow build with an artifact and two attestations. It returns the artifact's
// fingerprint and the id of the attestation with evidence.
func (s *service) deliverRelease(trail string) (fingerprint, attestation string) {
	s.t.Helper()
	fingerprint = digestOf("artifact of " + trail)
	s.reportArtifact("build", trail, "web", fingerprint, firstCommit)
	s.postAttestation(http.StatusCreated, trail, "generic", fmt.Sprintf(`{"attestation_name":"check","is_compliant":true,"artifact_fingerprint":%q}`, fingerprint),
		attachment("check.txt", strings.Repeat("all is well\n", 1000)))
	s.attestGeneric(trail, "of-the-trail", true, "")
	id := lookup(s.t, s.read("/attestations/"+s.org+"/build/artifact/"+fingerprint+"/check"), 0, "attestation_id")
	return fingerprint, id.(string)
}

// get sends a GET or HEAD request as a reader and does not decompress the answer. headers are names and values in turn.
func (s *service) get(method, path string, headers ...string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"/api/v2"+path, nil)
	s.must(err)
	request.Header.Set("Authorization", "Bearer "+readerKey)
	request.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return s.exchange(request)
}

func TestAuditPackagesAreDownloadedAndVerified(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	fingerprint, attestation := s.deliverRelease("1.0")
	trail := "/trails/" + s.org + "/build/1.0"
	artifact := "/artifacts/" + s.org + "/build/"
	attested := s.trailPath("1.0") + "/attestation/" + attestation
	for name, c := range map[string]struct {
		path, contentType, encoding, filename string
		attestations, artifacts               int
		status                                evidence.Status
	}{
		"of a trail":        {trail + "/audit_package", "application/gzip", "", "build-1.0-audit-package.tar.gz", 2, 1, evidence.Compliant},
		"of an artifact":    {artifact + fingerprint + "/audit_package", "application/octet-stream", "gzip", "build-" + fingerprint[:12] + "-audit-package.tar", 2, 1, ""},
		"by a prefix":       {artifact + fingerprint[:9] + "/audit_package", "application/octet-stream", "gzip", "build-" + fingerprint[:12] + "-audit-package.tar", 2, 1, ""},
		"of an attestation": {attested + "/audit_package", "application/octet-stream", "gzip", "build-1.0-check-audit-package.tar", 1, 0, ""},
		"the report alone":  {trail + "/audit_pdf", "application/pdf", "", "build-1.0-audit-report.pdf", 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := s.get(http.MethodGet, c.path)
			if got.status != http.StatusOK {
				t.Fatalf("%d %s", got.status, got.body)
			}
			for header, want := range map[string]string{
				"Content-Type": c.contentType, "Content-Encoding": c.encoding, "Content-Disposition": "attachment; filename=" + c.filename,
				"X-Content-Type-Options": "nosniff", "Accept-Ranges": "bytes", "ETag": `"` + digestOf(string(got.body)) + `"`,
			} {
				if got.header.Get(header) != want {
					t.Errorf("%s is %q, want %q", header, got.header.Get(header), want)
				}
			}
			if c.contentType != "application/pdf" {
				result := verifyCompressed(t, got.body)
				if len(result.Findings) > 0 || result.Attestations != c.attestations || result.Artifacts != c.artifacts || result.Manifest.Status != c.status {
					t.Errorf("verified: %+v of %+v", result, result.Manifest)
				}
			}
			s.checkRequests(c.path, got.body)
			state := s.want(http.StatusOK, http.MethodPost, c.path, nil).value(t)
			if lookup(t, state, "state") != "ready" || lookup(t, state, "size") != float64(len(got.body)) ||
				lookup(t, state, "sha256") != digestOf(string(got.body)) || lookup(t, state, "reason") != nil {
				t.Errorf("POST answers %v", state)
			}
		})
	}
}

// checkRequests checks requests for ranges of a download, a conditional request and a HEAD request.
func (s *service) checkRequests(path string, content []byte) {
	s.t.Helper()
	if part := s.get(http.MethodGet, path, "Range", "bytes=10-19"); part.status != http.StatusPartialContent || !bytes.Equal(part.body, content[10:20]) {
		s.t.Errorf("a part is %d %q", part.status, part.body)
	}
	if end := s.get(http.MethodGet, path, "Range", "bytes=-5"); end.status != http.StatusPartialContent || !bytes.Equal(end.body, content[len(content)-5:]) {
		s.t.Errorf("the end is %d %q", end.status, end.body)
	}
	if beyond := s.get(http.MethodGet, path, "Range", fmt.Sprintf("bytes=%d-", len(content))); beyond.status != http.StatusRequestedRangeNotSatisfiable {
		s.t.Errorf("beyond the end: %d", beyond.status)
	}
	if known := s.get(http.MethodGet, path, "If-None-Match", `"`+digestOf(string(content))+`"`); known.status != http.StatusNotModified || len(known.body) > 0 {
		s.t.Errorf("a package that the client has: %d, %d bytes", known.status, len(known.body))
	}
	head := s.get(http.MethodHead, path)
	if head.status != http.StatusOK || head.header.Get("Content-Length") != fmt.Sprint(len(content)) || len(head.body) > 0 {
		s.t.Errorf("HEAD: %d %q", head.status, head.header.Get("Content-Length"))
	}
}

// TestClientsThatDecompressAnswersGetATar downloads with a client that accepts gzip and decompresses the answer.
func TestClientsThatDecompressAnswersGetATar(t *testing.T) {
	t.Parallel()
	s := share(t)
	fingerprint, _ := s.deliverRelease("1.0")
	got := s.want(http.StatusOK, http.MethodGet, "/artifacts/"+s.org+"/build/"+fingerprint+"/audit_package", nil)
	if result := verifyPackage(t, bytes.NewReader(got.body)); len(result.Findings) > 0 {
		t.Errorf("verified: %v", result.Findings)
	}
}

func TestPackageIsTheSameUntilSomethingChanges(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deliverRelease("1.0")
	path := "/trails/" + s.org + "/build/1.0/audit_package"
	first := s.get(http.MethodGet, path)
	if again := s.get(http.MethodGet, path); !bytes.Equal(again.body, first.body) {
		t.Error("the second answer differs")
	}
	s.attestGeneric("1.0", "of-the-trail", false, "")
	changed := s.get(http.MethodGet, path)
	if result := verifyCompressed(t, changed.body); len(result.Findings) > 0 || result.Manifest.Status != evidence.NonCompliant || result.Attestations != 3 {
		t.Errorf("verified: %+v", result)
	}
}

// TestPackageShowsPermissionsOfAllItsArtifacts has more artifacts of one name than an aggregate of the trail keeps.
func TestPackageShowsPermissionsOfAllItsArtifacts(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.storePolicy("strict", "provenance: {required: true}", "attestations: [{type: generic, name: never}]")
	s.createEnvironment("prod", "server")
	for i := range 34 {
		s.reportArtifact("build", "t", "app", digestOf(fmt.Sprint("app-", i)), firstCommit)
	}
	s.reportServer("prod", "app-0")
	s.attach("prod", "strict")
	shown := func() string {
		t.Helper()
		body := s.get(http.MethodGet, "/trails/"+s.org+"/build/t/audit_package").body
		if result := verifyCompressed(t, body); len(result.Findings) > 0 {
			t.Errorf("findings: %v", result.Findings)
		}
		return string(contentIn(t, body, "environments.json"))
	}
	shown()
	s.want(http.StatusCreated, http.MethodPut, s.allowlistsPath()+"/prod", fmt.Appendf(nil,
		`{"artifact_fingerprint":%q,"artifact_name":"app","description":"an exception"}`, digestOf("app-0")))
	if got := shown(); !strings.Contains(got, "an exception") {
		t.Errorf("the package shows %s", got)
	}
}

func TestInvalidPackageRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	fingerprint, attestation := s.deliverRelease("1.0")
	unknown := digestOf("unknown")
	for _, c := range []struct {
		path, message string
		status        int
	}{
		{"/trails/" + s.org + "/nowhere/1.0/audit_package", "Flow or trail not found", 404},
		{"/trails/" + s.org + "/build/2.0/audit_package", "Flow or trail not found", 404},
		{"/trails/" + s.org + "/build/2.0/audit_pdf", "Flow or trail not found", 404},
		{"/artifacts/" + s.org + "/nowhere/" + fingerprint + "/audit_package", "Flow not found", 404},
		{"/artifacts/" + s.org + "/build/" + unknown + "/audit_package",
			"Artifact with fingerprint '" + unknown + "' does not exist in flow 'build' belonging to organization '" + s.org + "'", 404},
		{"/attestations/" + s.org + "/build/trail/1.0/attestation/" + evidence.NewID()[:24] + "00000000/audit_package", "", 404},
		{"/attestations/" + s.org + "/build/trail/2.0/attestation/" + attestation + "/audit_package", "", 404},
		{"/artifacts/" + s.org + "/build/xyz/audit_package", "Input payload validation failed", 400},
		{"/trails/" + s.org + "/build/1.0/audit_package?wait=26", "Input payload validation failed", 400},
		{"/trails/" + s.org + "/build/1.0/audit_package?wait=-1", "Input payload validation failed", 400},
		{"/trails/" + s.org + "/build/1.0/audit_package?wait=long", "Input payload validation failed", 400},
	} {
		t.Run(c.path, func(t *testing.T) {
			s := s.in(t)
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				if method == http.MethodPost && strings.Contains(c.path, "?") {
					continue
				}
				got := s.do(method, "/api/v2"+c.path, adminKey, nil)
				if message, _ := got.problem(t); got.status != c.status || c.message != "" && message != c.message {
					t.Errorf("%s: %d %s", method, got.status, got.body)
				}
			}
		})
	}
}

func TestUnfinishedPackageIsAnsweredWithRetryAfter(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	s.deliverRelease("1.0")
	path := "/trails/" + s.org + "/build/1.0/audit_package"
	for _, wait := range []string{"0", "1"} {
		wantUnavailable(t, s.do(http.MethodGet, "/api/v2"+path+"?wait="+wait, readerKey, nil), "The audit package is being assembled, please try again.")
	}
	state := s.want(http.StatusOK, http.MethodPost, path, nil).value(t)
	if lookup(t, state, "state") != "pending" || lookup(t, state, "size") != nil || lookup(t, state, "href") != s.URL+"/api/v2"+path {
		t.Errorf("POST answers %v", state)
	}
}

func TestPackagesOfAnotherOrganizationAreNotShown(t *testing.T) {
	t.Parallel()
	s := share(t)
	fingerprint, attestation := s.deliverRelease("1.0")
	first := s.get(http.MethodGet, "/artifacts/"+s.org+"/build/"+fingerprint+"/audit_package")
	own := s.org
	s.org = s.public
	s.createFlow("build")
	for _, path := range []string{
		"/trails/" + s.org + "/build/1.0/audit_package", "/artifacts/" + s.org + "/build/" + fingerprint + "/audit_package",
		"/attestations/" + s.org + "/build/trail/1.0/attestation/" + attestation + "/audit_package",
	} {
		if got := s.do(http.MethodGet, "/api/v2"+path, adminKey, nil); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	s.deliverRelease("1.0")
	other := s.get(http.MethodGet, "/artifacts/"+s.org+"/build/"+fingerprint+"/audit_package")
	if bytes.Contains(other.body, []byte(own)) || bytes.Equal(other.body, first.body) {
		t.Error("a package shows another organization's delivery")
	}
	if result := verifyCompressed(t, other.body); len(result.Findings) > 0 || result.Manifest.Subject.Organization != s.org {
		t.Errorf("verified: %+v", result)
	}
}

// TestPackageIsAssembledAlthoughItsWorkerIsKilled kills workers before their first and second write to packages.
func TestPackageIsAssembledAlthoughItsWorkerIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until the lease of the killed worker expires")
	}
	s := start(t, options{withoutWorker: true, keepsRedis: true, real: true})
	s.deliverRelease("1.0")
	path := "/trails/" + s.org + "/build/1.0/audit_package"
	s.want(http.StatusOK, http.MethodPost, path, nil)
	for n := range 2 {
		s.runDyingWorker("packages", n+1)
	}
	s.startWorker()
	eventually(t, "the package is ready", func() bool {
		return lookup(t, s.want(http.StatusOK, http.MethodPost, path, nil).value(t), "state") == "ready"
	})
	if result := verifyCompressed(t, s.get(http.MethodGet, path).body); len(result.Findings) > 0 {
		t.Errorf("verified: %v", result.Findings)
	}
}
