package apitest

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"testing"

	"attestry/evidence/translog"
	"attestry/scripts/standalone/instance"
)

// ShownLog has the members of a transparency log.
type ShownLog struct {
	Origin       string   `json:"origin"`
	VerifierKeys []string `json:"verifier_keys"`
	Size         int64    `json:"size"`
	RootHash     string   `json:"root_hash"`
	LagSeconds   float64  `json:"lag_seconds"`
	Continues    string   `json:"continues"`
}

// LogKeyFile creates a key of the log and returns the setting that enables the log.
func LogKeyFile(t *testing.T) string {
	t.Helper()
	file, err := instance.KeyFile(t.TempDir(), "log.key", translog.NewKeyFile)
	if err != nil {
		t.Fatal(err)
	}
	return "ATTESTRY_LOG_KEY_FILE=" + file
}

// LogPath returns the address of the transparency log of an organization.
func (s *Service) LogPath(org string) string { return "/api/v2/log/" + org }

// AwaitLogged waits until a checkpoint covers all facts of the test's organization.
func (s *Service) AwaitLogged(org string) (shown ShownLog) {
	s.T.Helper()
	Eventually(s.T, "all facts are in the log", func() bool {
		got := s.Do(http.MethodGet, s.LogPath(org), AdminKey, nil)
		if got.Status != http.StatusOK {
			return false
		}
		s.Must(json.Unmarshal(got.Body, &shown))
		log, err := s.Process.Store.Logs.Get(s.T.Context(), s.OrgID())
		return err == nil && shown.LagSeconds == 0 && log.Signed == log.Tree.Size && shown.Size == log.Signed
	})
	return shown
}

// FreeAddress returns an address on which nothing listens.
func FreeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// WriteFile writes a file.
func WriteFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
