package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/monitor"
	"attestry/process"
	"attestry/scripts/standalone/instance"
	"attestry/storage/storagetest"
)

const (
	databaseFull = "The database cannot be written to: the disk is full."
	objectsFull  = "The object store cannot be written to: the disk is full."
)

// readinessReasons returns the reasons in the answer of /readyz, by the name of the dependency.
func readinessReasons(s *apitest.Service) map[string]string {
	s.T.Helper()
	recorder := httptest.NewRecorder()
	monitor.New(s.Process.Metrics, s.Process.Checks(), s.Process.Clock).
		ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	var body struct{ Dependencies []monitor.Dependency }
	s.Must(json.Unmarshal(recorder.Body.Bytes(), &body))
	reasons := map[string]string{}
	for _, dependency := range body.Dependencies {
		if !dependency.Ready {
			reasons[dependency.Name] = dependency.Reason
		}
	}
	return reasons
}

func TestFullDiskRefusesWritesAndServiceRecoversByItself(t *testing.T) {
	disk := storagetest.NewDisk(t, 32<<20)
	s := apitest.Start(t, apitest.Options{Data: disk.Path, ReportWait: time.Second})
	s.CreateEnvironment("host", evidence.Server)
	attest := func(i int) apitest.Answer {
		return s.Form(http.MethodPost, s.TrailPath("t")+"/generic", apitest.AdminKey, "data_json",
			fmt.Sprintf(`{"attestation_name":"check-%d","is_compliant":true,"user_data":{"a":%q}}`, i, strings.Repeat("x", 100_000)))
	}
	if got := attest(0); got.Status != http.StatusCreated {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if got := s.Do(http.MethodGet, "/ready", "", nil); got.Status != http.StatusOK {
		t.Fatalf("/ready before: %d %s", got.Status, got.Body)
	}
	disk.Fill()

	// Some writes still succeed in space that the database has allocated already.
	acknowledged, got := 1, attest(1)
	for ; got.Status == http.StatusCreated && acknowledged < 500; got = attest(acknowledged) {
		acknowledged++
	}
	apitest.WantUnavailable(t, got, databaseFull)
	apitest.WantUnavailable(t, s.Form(http.MethodPost, s.TrailPath("t")+"/generic", apitest.AdminKey, "data_json", apitest.GenericData,
		apitest.Attachment("a", strings.Repeat("x", 1<<20))), objectsFull)
	s.Clock.Advance(6 * time.Second)
	ready := s.Do(http.MethodGet, "/ready", "", nil)
	apitest.WantMessage(t, ready, "Not ready: "+databaseFull+" "+objectsFull)
	apitest.Equal(t, ready.Status, http.StatusServiceUnavailable, "/ready is answered")
	reasons := readinessReasons(s)
	if len(reasons) != 2 || !strings.Contains(reasons["database"], s.Process.Settings.Stores.Database.Path) ||
		!strings.Contains(reasons["object store"], s.Process.Settings.Stores.Objects.Path) {
		t.Errorf("/readyz gives the reasons %q", reasons)
	}
	for i := range acknowledged {
		s.OnlyAttestation("t", fmt.Sprintf("check-%d", i))
	}
	if left, err := os.ReadDir(filepath.Join(s.Process.Settings.Stores.Objects.Path, ".incoming")); err != nil || len(left) != 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}

	disk.Empty()
	s.Clock.Advance(6 * time.Second)
	apitest.WantAnswer(t, s.Do(http.MethodGet, "/ready", "", nil), http.StatusOK)
	apitest.WantAnswer(t, attest(501), http.StatusCreated)
	s.PostAttestation(http.StatusCreated, "t", "generic", apitest.GenericData, apitest.Attachment("a", strings.Repeat("x", 1<<20)))
	s.ReportServer("host", "a")
	for _, want := range []string{"a store refuses writes", "a store takes writes again"} {
		apitest.Equal(t, strings.Count(s.Log.String(), want), 2, want)
	}
}

func TestServiceDoesNotStartOnAReadOnlyDiskAndSaysWhatToDo(t *testing.T) {
	disk := storagetest.NewDisk(t, 32<<20)
	options := instance.Options{Listen: "127.0.0.1:0", Data: disk.Path, ReportWait: time.Second, Clock: time.Now, Log: process.NewLog(&apitest.LogBuffer{}, 0)}
	running, err := instance.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	disk.MakeReadOnly()
	running, err = instance.Start(t.Context(), options)
	if err == nil {
		t.Fatal(running.Close())
	}
	for _, want := range []string{filepath.Join(disk.Path, "documents"), "must be able to write"} {
		evidencetest.Contains(t, err.Error(), want)
	}
}
