package packages_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/evidencetest"
	"attestry/storage"
)

// unpack writes the members of a compressed archive into a new folder and returns the folder.
func unpack(t *testing.T, content []byte) string {
	t.Helper()
	folder := t.TempDir()
	compressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, filepath.FromSlash(header.Name))
		member, err := io.ReadAll(archive)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, member, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// runIn runs a program in a folder and returns its output. The test is skipped if the program is not installed.
func runIn(t *testing.T, folder, program string, args ...string) (printed string, err error) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skip(err)
	}
	command := exec.CommandContext(t.Context(), path, args...)
	command.Dir = folder
	out, err := command.CombinedOutput()
	return string(out), err
}

// bundle downloads the bundle of the audit q3.
func bundle(s *apitest.Service, query string) []byte {
	s.T.Helper()
	return s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/bundle?"+query, nil).Body
}

func TestBundleCanBeVerifiedOffline(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Settings: []string{apitest.LogKeyFile(t)}})
	from, to := s.RunQuarter()
	shown := s.AwaitLogged(s.Org)
	s.CreateAudit(`"prod","canary"`, from, to)
	own := strings.Replace(apitest.OwnFramework, "control: GO", "log: true", 1)
	s.PutFramework(http.StatusOK, "ours", own)
	s.PutFramework(http.StatusOK, "also", "title: Also\nrequirements:\n  - {id: A, title: B, measures: [{title: C, findings: [rollback]}]}\n")
	content := bundle(s, "size=10&seed=4711")
	folder := unpack(t, content)
	if also, err := os.ReadFile(folder + "/requirements/also.csv"); err != nil || !strings.Contains(string(also), "A,B,not_met,C,findings rollback,not_met,9,8,0,1,") {
		t.Errorf("the other framework is assessed as %s: %v", also, err)
	}
	if kept, err := os.ReadFile(folder + "/frameworks/ours.yml"); err != nil || string(kept) != own {
		t.Errorf("the framework is %s: %v", kept, err)
	}
	if report, err := os.ReadFile(folder + "/report.pdf"); err != nil || !strings.HasPrefix(string(report), "%PDF-") {
		t.Errorf("the report is %.20q, %v", report, err)
	}
	sheet, err := os.ReadFile(folder + "/requirements/ours.csv")
	s.Must(err)
	if got := s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/requirements/csv?framework=ours", nil).Body; !bytes.Equal(got, sheet) || !strings.Contains(string(sheet), "not_met,9,4,2,3") {
		t.Errorf("the assessment is\n%swant\n%s", sheet, got)
	}
	if printed, err := runIn(t, folder, "sha256sum", "--check", "--quiet", "SHA256SUMS"); err != nil {
		t.Errorf("sha256sum says %v: %s", err, printed)
	}
	// The trails are approved, alone, machine, late, emergency and waved.
	packages, err := filepath.Glob(folder + "/packages/build/*.tar.gz")
	if err != nil || len(packages) != 6 {
		t.Errorf("the packages are %v: %v", packages, err)
	}
	for _, path := range packages {
		inner, err := os.ReadFile(path)
		s.Must(err)
		if result := apitest.VerifyCompressed(t, inner); len(result.Findings) > 0 {
			t.Errorf("%s has findings: %v", path, result.Findings)
		}
	}
	if note, err := os.ReadFile(folder + "/SHA256SUMS.note"); err != nil || !strings.Contains(string(note), "  SHA256SUMS\n") {
		t.Errorf("the signature is %s: %v", note, err)
	}
	s.Clock.Advance(time.Hour)
	id := audit.AssemblyID(audit.OfPeriod, s.OrgID(), "q3", evidence.SHA256([]byte("seed=4711&size=10")))
	_, err = s.Process.Store.Assemblies.Update(t.Context(), id, func(known *audit.Assembly) { known.Ready = nil })
	s.Must(err)
	if again := bundle(s, "size=10&seed=4711"); !bytes.Equal(again, content) {
		t.Error("a bundle of the same facts differs")
	}
	for _, query := range []string{"size=3&seed=x", "frequency=weekly&seed=", "size=2&by=environment&seed=%22%0A", "size=1&by=verdict&seed=1"} {
		if printed, err := runIn(t, unpack(t, bundle(s, query)), "python3", "recount.py"); err != nil || !strings.HasPrefix(printed, "OK       10 deployments") {
			t.Errorf("%s: recount.py says %v: %s", query, err, printed)
		}
	}
	t.Run("altered", func(t *testing.T) { testAlteredBundles(s.In(t), shown.VerifierKeys[0]) })
}

// testAlteredBundles alters bundles of the audit q3. The key verifies signatures of the log.
func testAlteredBundles(s *apitest.Service, key string) {
	t := s.T
	content := bundle(s, "size=4&by=environment&seed=7")
	byVerdict := bundle(s, "size=1&by=verdict&seed=7")
	program := filepath.Join(t.TempDir(), "verify-package")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "attestry/scripts/verify-package").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	recount := func(bundle []byte, key string) (string, error) {
		return runIn(t, unpack(t, bundle), "python3", "recount.py", key, program)
	}
	verify := func(bundle []byte, args ...string) (string, error) {
		path := filepath.Join(t.TempDir(), "bundle.tar.gz")
		s.Must(os.WriteFile(path, bundle, 0o644))
		return runIn(t, t.TempDir(), program, append(args, path)...)
	}
	if printed, err := verify(content, "--log-key="+key); err != nil || !strings.Contains(printed, "10 deployments, 5 sampled by the seed \"7\"") || !strings.Contains(printed, "OK       the log has signed it") {
		t.Errorf("verify-package says %v: %s", err, printed)
	}
	if printed, err := verify(byVerdict, "--log-key="+key); err != nil {
		t.Errorf("with a sample by verdict, verify-package says %v: %s", err, printed)
	}
	if printed, err := verify(content); err != nil || !strings.Contains(printed, "OK       nothing was altered; --log-key verifies that the log has signed it") {
		t.Errorf("without a key, verify-package says %v: %s", err, printed)
	}
	if printed, err := recount(content, key); err != nil || printed != "OK       10 deployments, 5 drawn by the seed '7'\n" {
		t.Errorf("recount.py says %v: %s", err, printed)
	}
	other, err := note.NewEd25519VerifierKey(strings.Split(key, "+")[0], make([]byte, ed25519.PublicKeySize))
	s.Must(err)
	if printed, err := verify(content, "--log-key="+other); err == nil || !strings.Contains(printed, "FAILED   SHA256SUMS.note: no key that is trusted has signed the checksums") {
		t.Errorf("with another key, verify-package says %s", printed)
	}
	if printed, err := recount(content, other); err == nil || !strings.Contains(printed, "FAILED   SHA256SUMS.note: the log did not sign these checksums") {
		t.Errorf("with another key, recount.py says %s", printed)
	}
	for key, says := range map[string]string{"mistyped": "LOG_KEY: it is not a verifier key", "": "LOG_KEY: it is not a verifier key", "a+b+!": "SHA256SUMS.note: "} {
		if printed, err := recount(content, key); err == nil || !strings.Contains(printed, "FAILED   "+says) || strings.Contains(printed, "Traceback") {
			t.Errorf("with the key %q, recount.py says %s", key, printed)
		}
	}
	if printed, err := runIn(t, unpack(t, content), "python3", "recount.py", key, "/nowhere/verify-package"); err == nil || !strings.HasPrefix(printed, "FAILED   VERIFY_PACKAGE: ") {
		t.Errorf("without verify-package, recount.py says %s", printed)
	}
	apitest.Each(s, map[string]struct{ member, from, to, says string }{
		"a row":                      {"population.csv", ",restart,", ",release,", "totals.json: it counts"},
		"a total":                    {"totals.json", `"deployments": 10`, `"deployments": 11`, "totals.json: it does not add up to the 10 lines"},
		"the seed":                   {"sample.json", `"seed": "7"`, `"seed": "8"`, "sample.json: another sample is drawn by its seed"},
		"the size":                   {"sample.json", `"size": 4`, `"size": 3`, "sample.json: another sample is drawn by its seed"},
		"a checksum":                 {"SHA256SUMS", "  README", "  README2", "README2.md: "},
		"a signature":                {"SHA256SUMS.note", "audit package", "audit packages", "SHA256SUMS.note: the log did not sign these checksums"},
		"a sheet that is not listed": {"SHA256SUMS", "requirements/ours.csv", "requirements/more.csv", "requirements/ours.csv: SHA256SUMS does not list it"},
		"a package that is missing":  {"SHA256SUMS", "packages/build/", "packages/other/", "packages: there is none of trail "},
		"a package":                  {"packages/build/", "\x1f\x8b", "\x1f\x8c", "packages/build/"},
		"the readme":                 {"README.md", "bundle", "Bundle", "README.md: it was altered"},
		"the report":                 {"report.pdf", "%PDF", "%pdf", "report.pdf: it was altered"},
	}, func(s *apitest.Service, name string, c struct{ member, from, to, says string }) {
		var altered bytes.Buffer
		compressed := gzip.NewWriter(&altered)
		_, err := io.Copy(compressed, apitest.AlterPackage(s.T, content, func(name string, content []byte) []byte {
			if !strings.HasPrefix(name, c.member) || name == "SHA256SUMS.note" && c.member == "SHA256SUMS" {
				return content
			}
			return bytes.Replace(content, []byte(c.from), []byte(c.to), 1)
		}))
		s.Must(err)
		s.Must(compressed.Close())
		printed, err := recount(altered.Bytes(), key)
		if err == nil || !strings.Contains(printed, "FAILED   "+c.says) || strings.HasPrefix(printed, "OK ") {
			s.T.Errorf("recount.py says %v: %s", err, printed)
		}
		printed, err = verify(altered.Bytes(), "--log-key="+key)
		if err == nil || !strings.Contains(printed, "FAILED   ") || strings.Contains(printed, "\nOK ") {
			s.T.Errorf("verify-package says %v: %s", err, printed)
		}
	})
}

// hookedDocuments calls its hook once, before the first query of environment events after armed was set.
type hookedDocuments struct {
	storage.Documents
	armed atomic.Bool
	hook  func()
}

func (d *hookedDocuments) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	if schema.Name == "environment_events" && d.armed.CompareAndSwap(true, false) {
		d.hook()
	}
	return d.Documents.Find(ctx, schema, query)
}

func TestBundleIsValidAlthoughEvidenceIsRecordedWhileItIsAssembled(t *testing.T) {
	t.Parallel()
	hooked := &hookedDocuments{}
	s := apitest.Start(t, apitest.Options{Wrap: func(docs storage.Documents) storage.Documents {
		hooked.Documents = docs
		return hooked
	}})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod","canary"`, from, to)
	hooked.hook = func() {
		s.PullRequests("emergency", apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"grace APPROVED 20"}})
	}
	hooked.armed.Store(true)
	if printed, err := runIn(t, unpack(t, bundle(s, "size=10&seed=1")), "python3", "recount.py"); err != nil || hooked.armed.Load() {
		t.Errorf("recount.py says %v: %s", err, printed)
	}
}

// The one worker that assembles the bundle also assembles the packages in it, when the log covers their facts.
func TestBundleWaitsUntilTheLogCoversItsTrails(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Settings: []string{apitest.LogKeyFile(t)}})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod","canary"`, from, to)
	s.AwaitLogged(s.Org)
	s.PullRequests("emergency", apitest.Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{"grace APPROVED 20"}})
	if _, err := os.Stat(filepath.Join(unpack(t, bundle(s, "size=10&seed=1")), audit.SignaturePath)); err != nil {
		t.Error(err)
	}
}

func TestBundleIsAssembledAgainWhenTheLogBegins(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod"`, from, to)
	signature := func() error {
		_, err := os.Stat(filepath.Join(unpack(t, bundle(s, "size=2&seed=1")), audit.SignaturePath))
		return err
	}
	if err := signature(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a log: %v", err)
	}
	s.Restart(func() { s.Settings.Environ = append(s.Settings.Environ, apitest.LogKeyFile(t)) })
	s.AwaitLogged(s.Org)
	s.Must(signature())
}

func TestBundleIsAssembledAgainAfterAnApproval(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod"`, from, to)
	bundle(s, "size=9&seed=1")
	s.Approve(apitest.DigestOf("approved"), apitest.Approved)
	current := s.Get(http.MethodGet, "/trails/"+s.Org+"/build/approved/audit_package").Body
	if got := apitest.ContentIn(t, bundle(s, "size=9&seed=1"), "packages/build/approved.tar.gz"); !bytes.Equal(got, current) {
		t.Error("the bundle has an older package of the trail")
	}
}

func TestBundleWithALongNameIsVerified(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("prod", "server")
	from := s.Clock.Read()
	s.Clock.Advance(time.Hour)
	s.ReportServer("prod", strings.Repeat("n", 140_000))
	s.Clock.Advance(time.Hour)
	s.CreateAudit(`"prod"`, from, s.Clock.Read())
	s.Clock.Advance(time.Hour)
	if printed, err := runIn(t, unpack(t, bundle(s, "size=1&seed=1")), "python3", "recount.py"); err != nil || !strings.HasPrefix(printed, "OK       1 deployment") {
		t.Errorf("recount.py says %v: %s", err, printed)
	}
}

func TestBundleNeedsAPeriodThatHasEnded(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod"`, from, to.Add(30*24*time.Hour))
	path := s.AuditsPath() + "/q3/bundle?size=2&seed=1"
	got := s.Want(http.StatusConflict, http.MethodPost, path, nil)
	evidencetest.Contains(t, string(got.Body), "Audit 'q3' is open until 20")
	s.Clock.Advance(31 * 24 * time.Hour)
	s.Want(http.StatusOK, http.MethodPost, path, nil)
	if _, err := os.Stat(filepath.Join(unpack(t, bundle(s, "size=2&seed=1")), audit.ChecksumsPath)); err != nil {
		t.Error(err)
	}
	s.Want(http.StatusBadRequest, http.MethodPost, s.AuditsPath()+"/q3/bundle?size=500", nil)
	s.Want(http.StatusBadRequest, http.MethodPost, s.AuditsPath()+"/q3/bundle", nil)
	s.Want(http.StatusNotFound, http.MethodPost, s.AuditsPath()+"/q9/bundle?size=2", nil)
}
