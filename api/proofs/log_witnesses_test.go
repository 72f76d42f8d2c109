package proofs_test

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

	"attestry/api/apitest"
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
	file := apitest.LogKeyFile(t)
	content, err := os.ReadFile(strings.TrimPrefix(file, "ATTESTRY_LOG_KEY_FILE="))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := translog.ParseKeys(content)
	if err != nil {
		t.Fatal(err)
	}
	verifiers = keys.Verifiers(witnessedOrigin)
	return []string{file, "ATTESTRY_BASE_URL=http://logs.example", "ATTESTRY_LOG_WITNESSES=" + witness}, verifiers
}

// cosigned reports whether the published checkpoint has a cosignature of a witness.
func cosigned(s *apitest.Service, key translog.WitnessKey) bool {
	_, err := note.Open(readRaw(s, "/-/log/"+s.Org+"/checkpoint"), note.VerifierList(key))
	return err == nil
}

// recordMore records count facts and waits until a checkpoint covers them.
func recordMore(s *apitest.Service, count int) {
	s.T.Helper()
	size := func() int64 {
		log, err := s.Process.Store.Logs.Get(s.T.Context(), s.OrgID())
		if !errors.Is(err, storage.ErrNotFound) {
			s.Must(err)
		}
		return log.Signed
	}
	before := size()
	for range count {
		s.AttestGeneric("release", "checked", true, "")
	}
	apitest.Eventually(s.T, "a checkpoint covers what was recorded", func() bool { return size() >= before+int64(count) })
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
	s := apitest.StartOnAnyEngine(t, apitest.Options{Data: data, Settings: settings, KeepsRedis: true})
	t.Cleanup(func() {
		for line := range strings.Lines(s.Log.String()) {
			if t.Failed() && (strings.Contains(line, "witness") || strings.Contains(line, "log:")) {
				t.Log(line)
			}
		}
	})
	copyFolder := func(from, to string) {
		s.Must(os.RemoveAll(to))
		s.Must(os.CopyFS(to, os.DirFS(from)))
	}
	s.CreateFlow("build")
	recordMore(s, 5)
	apitest.Eventually(t, "the checkpoint is cosigned", func() bool { return cosigned(s, key) })
	s.Restart(func() { copyFolder(data, filepath.Join(saved, "backup")) })
	recordMore(s, 60)
	apitest.Eventually(t, "the checkpoint is cosigned after a restart", func() bool { return cosigned(s, key) })

	s.Restart(func() {
		copyFolder(data, filepath.Join(saved, "latest"))
		copyFolder(filepath.Join(saved, "backup"), data)
	})
	recordMore(s, 3)
	apitest.Eventually(t, "the smaller log is a fork", func() bool { return strings.Count(s.Log.String(), "fork: a witness has cosigned another history") > 0 })
	recordMore(s, 70)
	reported := strings.Count(s.Log.String(), "fork: ")
	apitest.Eventually(t, "the larger log is a fork", func() bool { return strings.Count(s.Log.String(), "fork: ") > reported })
	if cosigned(s, key) {
		t.Error("a forked log was cosigned")
	}
	s.Restart(func() {
		copyFolder(filepath.Join(saved, "latest"), data)
		between()
	})
	recordMore(s, 7)
	apitest.Eventually(t, "the log that was not restored is cosigned", func() bool { return cosigned(s, key) })
	if _, err := translogtest.OpenCheckpoint(string(readRaw(s, "/-/log/"+s.Org+"/checkpoint")), verifiers...); err != nil {
		t.Error(err)
	}
}

func TestAWitnessRefusesALogThatWasRestored(t *testing.T) {
	t.Parallel()
	apitest.SkipOnRealEngines(t)
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
	address := apitest.FreeAddress(t)
	settings, verifiers := witnessSettings(t, "http://"+address+"="+public)
	apitest.WriteFile(t, filepath.Join(folder, "key"), private)
	apitest.WriteFile(t, filepath.Join(folder, "logs.yaml"), "Logs:\n  - Origin: "+witnessedOrigin+"\n    PublicKey: "+verifiers[0]+"\n    URL: http://logs.example/-/log/acme/\n")
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
	apitest.Eventually(t, "omniwitness answers", func() bool {
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

// logWarning returns the warning of /readyz about the log.
func logWarning(s *apitest.Service) string {
	s.T.Helper()
	recorder := httptest.NewRecorder()
	monitor.New(s.Process.Metrics, s.Process.Checks(), s.Process.Clock).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	var body struct{ Dependencies []monitor.Dependency }
	s.Must(json.Unmarshal(recorder.Body.Bytes(), &body))
	apitest.Equal(s.T, recorder.Code, http.StatusOK, recorder.Body)
	return body.Dependencies[slices.IndexFunc(body.Dependencies, func(d monitor.Dependency) bool { return d.Name == "log" })].Warning
}

func TestALogOfARestoredDatabaseStopsUntilAnotherOneContinuesIt(t *testing.T) {
	t.Parallel()
	apitest.SkipOnRealEngines(t)
	witness := translogtest.NewWitness(t, "witness.example/w1")
	key, err := translog.ParseWitnessKey(witness.Key)
	if err != nil {
		t.Fatal(err)
	}
	settings, verifiers := witnessSettings(t, witness.Setting())
	witness.Trust(witnessedOrigin, verifiers...)
	data := t.TempDir()
	documents, backup := filepath.Join(data, "documents"), filepath.Join(t.TempDir(), "backup")
	s := apitest.StartOnAnyEngine(t, apitest.Options{Data: data, Settings: settings, KeepsRedis: true})
	s.CreateFlow("build")
	recordMore(s, 5)
	s.Restart(func() { s.Must(os.CopyFS(backup, os.DirFS(documents))) })
	recordMore(s, 5)
	s.Restart(func() {
		s.Must(os.RemoveAll(documents))
		s.Must(os.CopyFS(documents, os.DirFS(backup)))
	})
	s.AttestGeneric("release", "checked", true, "")
	apitest.Eventually(t, "the log is not continued", func() bool { return strings.Contains(logWarning(s), witnessedOrigin+": the database has ") })
	apitest.Eventually(t, "the worker logs it", func() bool { return strings.Contains(s.Log.String(), "transparency logs are not continued") })
	s.AttestGeneric("release", "checked", true, "")
	if lag := s.Read("/log/" + s.Org).(map[string]any)["lag_seconds"]; lag == 0.0 {
		t.Errorf("the lag is %v", lag)
	}

	published, _, err := s.Process.Store.Logs.LastKept(t.Context(), s.OrgID())
	s.Must(err)
	_, err = s.Process.Store.Logs.Continue(t.Context(), s.OrgID())
	s.Must(err)
	apitest.Eventually(t, "the log is continued by another one", func() bool { return !strings.Contains(logWarning(s), witnessedOrigin) })
	shown := s.AwaitLogged(s.Org)
	apitest.Equal(t, shown.Origin, witnessedOrigin+"/1")
	apitest.Equal(t, shown.Continues, published.Note)
	if cited, err := translogtest.OpenCheckpoint(shown.Continues, verifiers...); err != nil || cited.Origin != witnessedOrigin || cited.Size < 10 {
		t.Errorf("the log continues %+v: %v", cited, err)
	}
	if texts := entriesOf(s, s.Org, shown.VerifierKeys); int64(len(texts)) != shown.Size {
		t.Errorf("the log has %d entries, and %d are read", shown.Size, len(texts))
	}
	prove(s, s.Org, "continuation", "1", shown.VerifierKeys)
	witness.Trust(shown.Origin, shown.VerifierKeys...)
	apitest.Eventually(t, "the log that continues the old one is cosigned", func() bool { return cosigned(s, key) })
}
