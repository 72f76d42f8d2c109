package packages_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

func TestAuditPackagesAreDownloadedAndVerified(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	fingerprint, attestation := s.DeliverRelease("1.0")
	trail := "/trails/" + s.Org + "/build/1.0"
	artifact := "/artifacts/" + s.Org + "/build/"
	attested := s.TrailPath("1.0") + "/attestation/" + attestation
	type testCase struct {
		path, contentType, encoding, filename string
		attestations, artifacts               int
		status                                evidence.Status
	}
	apitest.Each(s, map[string]testCase{
		"of a trail":        {trail + "/audit_package", "application/gzip", "", "build-1.0-audit-package.tar.gz", 2, 1, evidence.Compliant},
		"of an artifact":    {artifact + fingerprint + "/audit_package", "application/octet-stream", "gzip", "build-" + fingerprint[:12] + "-audit-package.tar", 2, 1, ""},
		"by a prefix":       {artifact + fingerprint[:9] + "/audit_package", "application/octet-stream", "gzip", "build-" + fingerprint[:12] + "-audit-package.tar", 2, 1, ""},
		"of an attestation": {attested + "/audit_package", "application/octet-stream", "gzip", "build-1.0-check-audit-package.tar", 1, 0, ""},
		"the report alone":  {trail + "/audit_pdf", "application/pdf", "", "build-1.0-audit-report.pdf", 0, 0, ""},
	}, func(s *apitest.Service, _ string, c testCase) {
		got := s.Get(http.MethodGet, c.path)
		if got.Status != http.StatusOK {
			s.T.Fatalf("%d %s", got.Status, got.Body)
		}
		for header, want := range map[string]string{
			"Content-Type": c.contentType, "Content-Encoding": c.encoding, "X-Content-Type-Options": "nosniff",
			"Content-Disposition": "attachment; filename=" + c.filename,
			"Accept-Ranges":       "bytes", "ETag": `"` + apitest.DigestOf(string(got.Body)) + `"`,
		} {
			apitest.Equal(s.T, got.Header.Get(header), want, header)
		}
		if c.contentType != "application/pdf" {
			result := apitest.VerifyCompressed(s.T, got.Body)
			if len(result.Findings) > 0 || result.Attestations != c.attestations || result.Artifacts != c.artifacts ||
				result.Manifest.Status != c.status {
				s.T.Errorf("verified: %+v of %+v", result, result.Manifest)
			}
		}
		if part := s.Get(http.MethodGet, c.path, "Range", "bytes=10-19"); part.Status != http.StatusPartialContent ||
			!bytes.Equal(part.Body, got.Body[10:20]) {
			s.T.Errorf("a part is %d %q", part.Status, part.Body)
		}
		apitest.Equal(s.T, s.Get(http.MethodGet, c.path, "If-None-Match", got.Header.Get("ETag")).Status,
			http.StatusNotModified, "a package that the client has")
		state := s.Want(http.StatusOK, http.MethodPost, c.path, nil).Value(s.T)
		apitest.WantMembers(s.T, state, map[string]any{
			"state": "ready", "size": float64(len(got.Body)), "sha256": apitest.DigestOf(string(got.Body)), "reason": nil,
		})
	})
}

// TestClientsThatDecompressAnswersGetATar downloads with a client that accepts gzip and decompresses the answer.
func TestClientsThatDecompressAnswersGetATar(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	fingerprint, _ := s.DeliverRelease("1.0")
	got := s.Want(http.StatusOK, http.MethodGet, "/artifacts/"+s.Org+"/build/"+fingerprint+"/audit_package", nil)
	if result := apitest.VerifyPackage(t, bytes.NewReader(got.Body)); len(result.Findings) > 0 {
		t.Errorf("verified: %v", result.Findings)
	}
}

// TestPackageShowsPermissionsOfAllItsArtifacts has more artifacts of one name than an aggregate of the trail keeps.
func TestPackageShowsPermissionsOfAllItsArtifacts(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.StorePolicy("strict", "provenance: {required: true}", "attestations: [{type: generic, name: never}]")
	s.CreateEnvironment("prod", "server")
	for i := range 34 {
		s.ReportArtifact("build", "t", "app", apitest.DigestOf(fmt.Sprint("app-", i)), apitest.FirstCommit)
	}
	s.ReportServer("prod", "app-0")
	s.Attach("prod", "strict")
	shown := func() string {
		t.Helper()
		body := s.Get(http.MethodGet, "/trails/"+s.Org+"/build/t/audit_package").Body
		if result := apitest.VerifyCompressed(t, body); len(result.Findings) > 0 {
			t.Errorf("findings: %v", result.Findings)
		}
		return string(apitest.ContentIn(t, body, "environments.json"))
	}
	shown()
	s.Want(http.StatusCreated, http.MethodPut, s.AllowlistsPath()+"/prod", fmt.Appendf(nil,
		`{"artifact_fingerprint":%q,"artifact_name":"app","description":"an exception"}`, apitest.DigestOf("app-0")))
	evidencetest.Contains(t, shown(), "an exception")
}

func TestInvalidPackageRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	fingerprint, attestation := s.DeliverRelease("1.0")
	unknown := apitest.DigestOf("unknown")
	for _, c := range []struct {
		path, message string
		status        int
	}{
		{"/trails/" + s.Org + "/nowhere/1.0/audit_package", "Flow or trail not found", 404},
		{"/trails/" + s.Org + "/build/2.0/audit_package", "Flow or trail not found", 404},
		{"/trails/" + s.Org + "/build/2.0/audit_pdf", "Flow or trail not found", 404},
		{"/artifacts/" + s.Org + "/nowhere/" + fingerprint + "/audit_package", "Flow not found", 404},
		{"/artifacts/" + s.Org + "/build/" + unknown + "/audit_package",
			"Artifact with fingerprint '" + unknown + "' does not exist in flow 'build' belonging to organization '" + s.Org + "'", 404},
		{"/attestations/" + s.Org + "/build/trail/1.0/attestation/" + evidence.NewID()[:24] + "00000000/audit_package", "", 404},
		{"/attestations/" + s.Org + "/build/trail/2.0/attestation/" + attestation + "/audit_package", "", 404},
		{"/artifacts/" + s.Org + "/build/xyz/audit_package", "Input payload validation failed", 400},
		{"/trails/" + s.Org + "/build/1.0/audit_package?wait=26", "Input payload validation failed", 400},
		{"/trails/" + s.Org + "/build/1.0/audit_package?wait=-1", "Input payload validation failed", 400},
		{"/trails/" + s.Org + "/build/1.0/audit_package?wait=long", "Input payload validation failed", 400},
	} {
		t.Run(c.path, func(t *testing.T) {
			s := s.In(t)
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				if method == http.MethodPost && strings.Contains(c.path, "?") {
					continue
				}
				got := s.Do(method, "/api/v2"+c.path, apitest.AdminKey, nil)
				if message, _ := got.Problem(t); got.Status != c.status || c.message != "" && message != c.message {
					t.Errorf("%s: %d %s", method, got.Status, got.Body)
				}
			}
		})
	}
}

func TestUnfinishedPackageIsAnsweredWithRetryAfter(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	s.DeliverRelease("1.0")
	path := "/trails/" + s.Org + "/build/1.0/audit_package"
	for _, wait := range []string{"0", "1"} {
		apitest.WantUnavailable(t, s.Do(http.MethodGet, "/api/v2"+path+"?wait="+wait, apitest.ReaderKey, nil), "The audit package is being assembled, please try again.")
	}
	state := s.Want(http.StatusOK, http.MethodPost, path, nil).Value(t)
	apitest.WantMembers(t, state, map[string]any{"state": "pending", "size": nil, "href": s.URL + "/api/v2" + path})
}

func TestPackagesOfAnotherOrganizationAreNotShown(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	fingerprint, attestation := s.DeliverRelease("1.0")
	first := s.Get(http.MethodGet, "/artifacts/"+s.Org+"/build/"+fingerprint+"/audit_package")
	own := s.Org
	s.Org = s.Public
	s.CreateFlow("build")
	for _, path := range []string{
		"/trails/" + s.Org + "/build/1.0/audit_package", "/artifacts/" + s.Org + "/build/" + fingerprint + "/audit_package",
		"/attestations/" + s.Org + "/build/trail/1.0/attestation/" + attestation + "/audit_package",
	} {
		apitest.Equal(t, s.Do(http.MethodGet, "/api/v2"+path, apitest.AdminKey, nil).Status, http.StatusNotFound, path)
	}
	s.DeliverRelease("1.0")
	other := s.Get(http.MethodGet, "/artifacts/"+s.Org+"/build/"+fingerprint+"/audit_package")
	if bytes.Contains(other.Body, []byte(own)) || bytes.Equal(other.Body, first.Body) {
		t.Error("a package shows another organization's delivery")
	}
	if result := apitest.VerifyCompressed(t, other.Body); len(result.Findings) > 0 || result.Manifest.Subject.Organization != s.Org {
		t.Errorf("verified: %+v", result)
	}
}

// TestPackageIsAssembledAlthoughItsWorkerIsKilled kills workers before their first and second write to packages.
func TestPackageIsAssembledAlthoughItsWorkerIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until the lease of the killed worker expires")
	}
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, KeepsRedis: true, Real: true})
	s.DeliverRelease("1.0")
	path := "/trails/" + s.Org + "/build/1.0/audit_package"
	s.Want(http.StatusOK, http.MethodPost, path, nil)
	for n := range 2 {
		s.RunDyingWorker("packages", n+1)
	}
	s.RunWorker()
	apitest.Eventually(t, "the package is ready", func() bool {
		return apitest.Lookup(t, s.Want(http.StatusOK, http.MethodPost, path, nil).Value(t), "state") == "ready"
	})
	if result := apitest.VerifyCompressed(t, s.Get(http.MethodGet, path).Body); len(result.Findings) > 0 {
		t.Errorf("verified: %v", result.Findings)
	}
}
