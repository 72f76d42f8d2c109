package e2e_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"attestry/evidence/translog"
	"attestry/evidence/translog/translogtest"
	"attestry/monitor"
	"attestry/storage"
)

// witnessedOrigin is the origin of the log of the test's organization in services with witnessSettings.
const witnessedOrigin = "logs.example/acme"

// witnessSettings returns the settings of a service with a log and a witness, and the verifier keys of the log.
func witnessSettings(t *testing.T, witness string) (settings, verifiers []string) {
	t.Helper()
	file := logKeyFile(t)
	content, err := os.ReadFile(strings.TrimPrefix(file, "ATTESTRY_LOG_KEY_FILE="))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := translog.ParseKeys(content)
	if err != nil {
		t.Fatal(err)
	}
	verifiers, err = keys.Verifiers(witnessedOrigin)
	if err != nil {
		t.Fatal(err)
	}
	return []string{file, "ATTESTRY_BASE_URL=http://logs.example", "ATTESTRY_LOG_WITNESSES=" + witness}, verifiers
}

// cosigned reports whether the published checkpoint has a cosignature of a witness.
func (s *service) cosigned(key translog.WitnessKey) bool {
	_, err := note.Open(s.readRaw("/-/log/"+s.org+"/checkpoint"), note.VerifierList(key))
	return err == nil
}

// recordMore records count facts and waits until a checkpoint covers them.
func (s *service) recordMore(count int) {
	s.t.Helper()
	size := func() int64 {
		log, err := s.Process.Store.Logs.Get(s.t.Context(), s.orgID())
		if !errors.Is(err, storage.ErrNotFound) {
			s.must(err)
		}
		return log.Signed
	}
	before := size()
	for range count {
		s.attestGeneric("release", "checked", true, "")
	}
	eventually(s.t, "a checkpoint covers what was recorded", func() bool { return size() >= before+int64(count) })
}

// checkWitnessed runs a service with a witness, restores its data from a backup, and then puts back the latest data.
// The witness cosigns the log, except while the data are those of the backup. between is called while the service is
// stopped for the last time.
func checkWitnessed(t *testing.T, settings, verifiers []string, witness string, between func()) {
	t.Helper()
	key, err := translog.ParseWitnessKey(witness)
	if err != nil {
		t.Fatal(err)
	}
	data, saved := t.TempDir(), t.TempDir()
	s := begin(t, options{data: data, settings: settings, keepsRedis: true})
	t.Cleanup(func() {
		for line := range strings.Lines(s.log.String()) {
			if t.Failed() && (strings.Contains(line, "witness") || strings.Contains(line, "log:")) {
				t.Log(line)
			}
		}
	})
	copyFolder := func(from, to string) {
		s.must(os.RemoveAll(to))
		s.must(os.CopyFS(to, os.DirFS(from)))
	}
	s.createFlow("build")
	s.recordMore(5)
	eventually(t, "the checkpoint is cosigned", func() bool { return s.cosigned(key) })
	s.restart(func() { copyFolder(data, filepath.Join(saved, "backup")) })
	s.recordMore(60)
	eventually(t, "the checkpoint is cosigned after a restart", func() bool { return s.cosigned(key) })

	s.restart(func() {
		copyFolder(data, filepath.Join(saved, "latest"))
		copyFolder(filepath.Join(saved, "backup"), data)
	})
	s.recordMore(3)
	eventually(t, "the smaller log is a fork", func() bool { return strings.Count(s.log.String(), "fork: a witness has cosigned another history") > 0 })
	s.recordMore(70)
	reported := strings.Count(s.log.String(), "fork: ")
	eventually(t, "the larger log is a fork", func() bool { return strings.Count(s.log.String(), "fork: ") > reported })
	if s.cosigned(key) {
		t.Error("a forked log was cosigned")
	}
	s.restart(func() {
		copyFolder(filepath.Join(saved, "latest"), data)
		between()
	})
	s.recordMore(7)
	eventually(t, "the log that was not restored is cosigned", func() bool { return s.cosigned(key) })
	if _, err := translogtest.OpenCheckpoint(string(s.readRaw("/-/log/"+s.org+"/checkpoint")), verifiers...); err != nil {
		t.Error(err)
	}
}

func TestAWitnessRefusesALogThatWasRestored(t *testing.T) {
	t.Parallel()
	skipOnRealEngines(t)
	witness := translogtest.NewWitness(t, "witness.example/w1")
	settings, verifiers := witnessSettings(t, witness.Setting())
	witness.Trust(witnessedOrigin, verifiers...)
	checkWitnessed(t, settings, verifiers, witness.Key, func() {})
}

// TestOmniwitnessRefusesALogThatWasRestored uses the witness of transparency.dev.
func TestOmniwitnessRefusesALogThatWasRestored(t *testing.T) {
	t.Parallel()
	program := os.Getenv("ATTESTRY_TEST_OMNIWITNESS")
	if program == "" {
		t.Skip("scripts/test --real has logs cosigned by omniwitness")
	}
	folder := t.TempDir()
	private, public := witnessKeys(t)
	address := freeAddress(t)
	settings, verifiers := witnessSettings(t, "http://"+address+"="+public)
	writeFile(t, filepath.Join(folder, "key"), private)
	writeFile(t, filepath.Join(folder, "logs.yaml"), "Logs:\n  - Origin: "+witnessedOrigin+"\n    PublicKey: "+verifiers[0]+"\n    URL: http://logs.example/-/log/acme/\n")
	stop := runOmniwitness(t, program, folder, address)
	checkWitnessed(t, settings, verifiers, public, func() {
		stop()
		stop = runOmniwitness(t, program, folder, address)
	})
}

// runOmniwitness starts the witness with the files of a folder. stop kills it.
func runOmniwitness(t *testing.T, program, folder, address string) (stop func()) {
	t.Helper()
	var output bytes.Buffer
	command := exec.Command(program, "--listen", address, "--metrics_listen", "", "--private_key_path", filepath.Join(folder, "key"),
		"--additional_logs", filepath.Join(folder, "logs.yaml"), "--db_file", filepath.Join(folder, "witness.db"))
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Log(output.String())
		}
	})
	eventually(t, "omniwitness answers", func() bool {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			connection.Close()
		}
		return err == nil
	})
	return stop
}

// witnessKeys generates the private key of a witness, as the key of a note, and the public key for cosignatures.
func witnessKeys(t *testing.T) (private, public string) {
	t.Helper()
	private, verifier, err := note.GenerateKey(rand.Reader, "witness.example/w1")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitN(verifier, "+", 3)
	encoded, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		t.Fatal(err)
	}
	encoded[0] = 4 // cosignature/v1
	sum := sha256.Sum256([]byte(parts[0] + "\n" + string(encoded)))
	return private, fmt.Sprintf("%s+%x+%s", parts[0], sum[:4], base64.StdEncoding.EncodeToString(encoded))
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// logWarning returns the warning of /readyz about the log.
func (s *service) logWarning() string {
	s.t.Helper()
	recorder := httptest.NewRecorder()
	monitor.New(s.Process.Metrics, s.Process.Checks(), s.Process.Clock).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	var body struct{ Dependencies []monitor.Dependency }
	s.must(json.Unmarshal(recorder.Body.Bytes(), &body))
	if recorder.Code != http.StatusOK {
		s.t.Errorf("/readyz answers %d: %s", recorder.Code, recorder.Body)
	}
	return body.Dependencies[slices.IndexFunc(body.Dependencies, func(d monitor.Dependency) bool { return d.Name == "log" })].Warning
}

func TestALogOfARestoredDatabaseStopsUntilAnotherOneContinuesIt(t *testing.T) {
	t.Parallel()
	skipOnRealEngines(t)
	witness := translogtest.NewWitness(t, "witness.example/w1")
	key, err := translog.ParseWitnessKey(witness.Key)
	if err != nil {
		t.Fatal(err)
	}
	settings, verifiers := witnessSettings(t, witness.Setting())
	witness.Trust(witnessedOrigin, verifiers...)
	data := t.TempDir()
	documents, backup := filepath.Join(data, "documents"), filepath.Join(t.TempDir(), "backup")
	s := begin(t, options{data: data, settings: settings, keepsRedis: true})
	s.createFlow("build")
	s.recordMore(5)
	s.restart(func() { s.must(os.CopyFS(backup, os.DirFS(documents))) })
	s.recordMore(5)
	s.restart(func() {
		s.must(os.RemoveAll(documents))
		s.must(os.CopyFS(documents, os.DirFS(backup)))
	})
	s.attestGeneric("release", "checked", true, "")
	eventually(t, "the log is not continued", func() bool { return strings.Contains(s.logWarning(), witnessedOrigin+": the database has ") })
	eventually(t, "the worker logs it", func() bool { return strings.Contains(s.log.String(), "transparency logs are not continued") })
	s.attestGeneric("release", "checked", true, "")
	if lag := s.read("/log/" + s.org).(map[string]any)["lag_seconds"]; lag == 0.0 {
		t.Errorf("the lag is %v", lag)
	}

	published, _, err := s.Process.Store.Logs.LastKept(t.Context(), s.orgID())
	s.must(err)
	_, err = s.Process.Store.Logs.Continue(t.Context(), s.orgID())
	s.must(err)
	eventually(t, "the log is continued by another one", func() bool { return !strings.Contains(s.logWarning(), witnessedOrigin) })
	shown := s.awaitLogged(s.org)
	if shown.Origin != witnessedOrigin+"/1" || shown.Continues != published.Note {
		t.Errorf("the log is %+v, and %+v was published", shown, published)
	}
	if cited, err := translogtest.OpenCheckpoint(shown.Continues, verifiers...); err != nil || cited.Origin != witnessedOrigin || cited.Size < 10 {
		t.Errorf("the log continues %+v: %v", cited, err)
	}
	if texts := s.entriesOf(s.org, shown.VerifierKeys); int64(len(texts)) != shown.Size {
		t.Errorf("the log has %d entries, and %d are read", shown.Size, len(texts))
	}
	s.prove(s.org, "continuation", "1", shown.VerifierKeys)
	witness.Trust(shown.Origin, shown.VerifierKeys...)
	eventually(t, "the log that continues the old one is cosigned", func() bool { return s.cosigned(key) })
}
