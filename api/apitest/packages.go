package apitest

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

	"attestry/evidence/attestation/attestationtest"
	"attestry/evidence/audit"
)

// VerifyPackage verifies an archive as scripts/verify-package does.
func VerifyPackage(t *testing.T, archive io.Reader) audit.Result {
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

// VerifyCompressed verifies an archive that is compressed with gzip.
func VerifyCompressed(t *testing.T, content []byte) audit.Result {
	t.Helper()
	archive, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return VerifyPackage(t, archive)
}

// DeliverRelease records a trail of the flow build with an artifact and two attestations. It returns the artifact's
// fingerprint and the id of the attestation with evidence.
func (s *Service) DeliverRelease(trail string) (fingerprint, attestation string) {
	s.T.Helper()
	fingerprint = DigestOf("artifact of " + trail)
	s.ReportArtifact("build", trail, "web", fingerprint, FirstCommit)
	s.PostAttestation(http.StatusCreated, trail, "generic", fmt.Sprintf(`{"attestation_name":"check","is_compliant":true,"artifact_fingerprint":%q}`, fingerprint),
		Attachment("check.txt", strings.Repeat("all is well\n", 1000)))
	s.AttestGeneric(trail, "of-the-trail", true, "")
	id := Lookup(s.T, s.Read("/attestations/"+s.Org+"/build/artifact/"+fingerprint+"/check"), 0, "attestation_id")
	return fingerprint, id.(string)
}

// Get sends a GET or HEAD request as a reader and does not decompress the answer. headers are names and values in turn.
func (s *Service) Get(method, path string, headers ...string) Answer {
	s.T.Helper()
	request, err := http.NewRequestWithContext(s.T.Context(), method, s.URL+"/api/v2"+path, nil)
	s.Must(err)
	request.Header.Set("Authorization", "Bearer "+ReaderKey)
	request.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return s.Exchange(request)
}

// ContentIn returns the content of a member of a package.
func ContentIn(t *testing.T, packed []byte, member string) []byte {
	t.Helper()
	content, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if err != nil {
			t.Fatalf("%s: %v", member, err)
		}
		if header.Name == member {
			found, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
	}
}
