package proofs_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence/evidencetest"
	"attestry/goroutine"
)

// logWriters is the number of clients that write to one log concurrently.
const logWriters = 16

// TestFsckFindsWholeLogs verifies logs with tessera's fsck.
func TestFsckFindsWholeLogs(t *testing.T) {
	t.Parallel()
	program := os.Getenv("ATTESTRY_TEST_FSCK")
	if program == "" {
		t.Skip("scripts/test --real checks logs with tessera's fsck")
	}
	for name, row := range map[string]struct {
		real bool
		each int // facts that each writer records
	}{
		"embedded engines": {false, apitest.Scaled(200, 100_000/logWriters)},
		// The MongoDB-compatible server takes a second for thirty facts.
		"real engines": {true, apitest.Scaled(20, 10_000/logWriters)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.StartOnAnyEngine(t, apitest.Options{Real: row.real})
			s.CreateFlow("build")
			s.Restart(func() { s.Settings.Environ = append(s.Settings.Environ, apitest.LogKeyFile(t)) })
			var writers goroutine.Group
			for writer := range logWriters {
				path := s.TrailPath(fmt.Sprint("release-", writer)) + "/generic"
				writers.Go(func() error {
					for recorded := 0; recorded < row.each; {
						got := s.Form(http.MethodPost, path, apitest.AdminKey, "data_json", `{"attestation_name":"checked","is_compliant":true}`)
						switch got.Status {
						case http.StatusCreated:
							recorded++
						case http.StatusServiceUnavailable: // retry, as clients do: the MongoDB-compatible server may be busy
						default:
							return fmt.Errorf("status %d: %s", got.Status, got.Body)
						}
					}
					return nil
				})
			}
			s.Must(writers.Wait())
			shown := s.AwaitLogged(s.Org)
			if shown.Size < int64(row.each*logWriters) {
				t.Errorf("the log has %d entries", shown.Size)
			}
			key := filepath.Join(t.TempDir(), "key")
			apitest.WriteFile(t, key, shown.VerifierKeys[0])
			if output := fsck(s, program, key, s.URL); !strings.Contains(output, "Completed ranges") || strings.Contains(output, "fsck failed") {
				t.Error(output)
			}
			evidencetest.Contains(t, fsck(s, program, key, altering(s, t, "/tile/entries/000")), "fsck failed")
		})
	}
}

// altering returns the address of a proxy of the service that changes one byte of the content at a path.
func altering(s *apitest.Service, t *testing.T, path string) string {
	t.Helper()
	target, err := url.Parse(s.URL)
	s.Must(err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(response *http.Response) error {
		if !strings.HasSuffix(response.Request.URL.Path, path) {
			return nil
		}
		content, err := io.ReadAll(response.Body)
		content[len(content)/2] ^= 1
		response.Body = io.NopCloser(bytes.NewReader(content))
		return err
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// fsck returns the output of the program for the log at an address. Its exit status does not depend on the result.
func fsck(s *apitest.Service, program, key, address string) string {
	s.T.Helper()
	output, _ := exec.CommandContext(s.T.Context(), program, "-storage_url", address+"/-/log/"+s.Org+"/", "-bearer_token", apitest.AdminKey,
		"-public_key", key, "-ui=false", "-v=1", "-N=4").CombinedOutput()
	return string(output)
}
