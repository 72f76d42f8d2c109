package packages_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence/audit"
)

// auditor runs the command that verifies packages.
type auditor struct {
	t       *testing.T
	program string
	args    []string
}

func newAuditor(t *testing.T, s *apitest.Service, verifiers []string) *auditor {
	t.Helper()
	a := &auditor{t: t, program: filepath.Join(t.TempDir(), "verify-package")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", a.program, "attestry/scripts/verify-package").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a.args = []string{
		"--log-key", a.write("keys", []byte(strings.Join(verifiers, "\n"))), "--log", s.URL + "/-/log/" + s.Org, "--token", a.write("token", []byte(apitest.ReaderKey)),
	}
	return a
}

func (a *auditor) write(name string, content []byte) (path string) {
	a.t.Helper()
	path = filepath.Join(a.t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// verify checks that the command accepts a package and prints the lines.
func (a *auditor) verify(content []byte, lines []string, args ...string) {
	a.t.Helper()
	args = append(append(append([]string{}, a.args...), args...), a.write("package.tgz", content))
	printed, err := exec.CommandContext(a.t.Context(), a.program, args...).CombinedOutput()
	for _, line := range lines {
		if err != nil || !strings.Contains(string(printed), line) {
			a.t.Fatalf("%v: there is no %q in\n%s", err, line, printed)
		}
	}
}

// TestAuditorProvesPackagesByTheLog verifies packages that were downloaded right after their facts were recorded, first
// of a small log and then of a larger one.
func TestAuditorProvesPackagesByTheLog(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Settings: []string{apitest.LogKeyFile(t)}})
	s.CreateFlow("build")
	fingerprint, attestation := s.DeliverRelease("1.0")
	trail := "/trails/" + s.Org + "/build/1.0/audit_package"
	get := func(path string) []byte {
		t.Helper()
		got := s.Get(http.MethodGet, path)
		if got.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.Status, got.Body)
		}
		return got.Body
	}
	first := get(trail)
	shown := s.AwaitLogged(s.Org)
	a := newAuditor(t, s, shown.VerifierKeys)
	signed := "log      " + shown.Origin + " has signed the package, and has %d facts of it"
	complete := "log      these have nothing else of the trail\n"
	a.verify(first, []string{fmt.Sprintf(signed, 3), complete, "verdict  COMPLIANT"})

	for _, path := range []string{
		"/artifacts/" + s.Org + "/build/" + fingerprint + "/audit_package",
		s.TrailPath("1.0") + "/attestation/" + attestation + "/audit_package",
	} {
		a.verify(get(path), []string{"the log has ", "more facts of the trails"})
	}
	for range 300 {
		s.AttestGeneric("1.0", "again", true, "")
	}
	kept := a.write("checkpoint", apitest.ContentIn(t, first, audit.CheckpointPath))
	a.verify(first, []string{fmt.Sprintf(signed, 3), complete})
	a.verify(get(trail), []string{fmt.Sprintf(signed, 303), complete, "entries of the earlier checkpoint are the same now\n"}, "--checkpoint", kept)
}
