package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

const acceptedText = "report accepted, it will be processed"

func TestReportSurvivesRedisForgettingEverything(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true, WithoutWorker: true, ReportWait: time.Millisecond})
	s.CreateEnvironment("host", evidence.Server)
	got := s.Want(http.StatusOK, http.MethodPut, s.EnvironmentsPath()+"/host/report/server", apitest.ServerReport("a"))
	apitest.Equal(t, got.Text(t), acceptedText, got.Body)
	s.AwaitTask()
	if err := s.Process.Redis.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(time.Minute)
	s.RunWorker()
	awaitSnapshot(s, "host")
}

func TestReportSurvivesAKilledWorker(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true, KeepsRedis: true, WithoutWorker: true, ReportWait: time.Millisecond})
	s.CreateEnvironment("host", evidence.Server)
	s.Want(http.StatusOK, http.MethodPut, s.EnvironmentsPath()+"/host/report/server", apitest.ServerReport("a"))
	s.AwaitTask()
	s.RunDyingWorker("snapshots", 1)
	if latest, err := s.Process.Store.Snapshots.LastNumber(t.Context(), s.EnvironmentID("host")); err != nil || latest != 0 {
		t.Fatalf("%d snapshots before the second worker, %v", latest, err)
	}
	// The lease of the killed worker runs out; its task is still active in Redis.
	s.Clock.Advance(time.Minute)
	s.RunWorker()
	awaitSnapshot(s, "host")
}

func TestReportsAreAcceptedWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	if apitest.RealRedis != "" {
		t.Skip("stops its Redis, which is not its own here")
	}
	s := apitest.Start(t, apitest.Options{Real: true, WithoutWorker: true, ReportWait: time.Second})
	s.RunWorker()
	s.CreateEnvironment("host", evidence.Server)
	stopRedis(s)
	got := s.Want(http.StatusOK, http.MethodPut, s.EnvironmentsPath()+"/host/report/server", apitest.ServerReport("a"))
	apitest.Equal(t, got.Text(t), acceptedText, got.Body)
	if got := s.Do(http.MethodGet, "/ready", "", nil); got.Status != http.StatusOK || string(got.Body) != "OK" {
		t.Errorf("/ready without Redis: %d %s", got.Status, got.Body)
	}
	if err := s.Redis.Restart(); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(time.Minute)
	awaitSnapshot(s, "host")
}

// TestOneProcessNeedsNoRedisForItsTasks does not advance the clock: no sweep finds the report.
func TestOneProcessNeedsNoRedisForItsTasks(t *testing.T) {
	t.Parallel()
	if apitest.RealRedis != "" {
		t.Skip("stops its Redis, which is not its own here")
	}
	s := apitest.Start(t, apitest.Options{Real: true, ReportWait: time.Millisecond})
	s.CreateEnvironment("host", evidence.Server)
	stopRedis(s)
	s.Do(http.MethodPut, "/api/v2"+s.EnvironmentsPath()+"/host/report/server", apitest.AdminKey, apitest.ServerReport("a"))
	awaitSnapshot(s, "host")
}

func awaitSnapshot(s *apitest.Service, environment string) {
	s.T.Helper()
	apitest.Eventually(s.T, "the snapshot appears", func() bool {
		return s.Do(http.MethodGet, "/api/v2/snapshots/"+s.Org+"/"+environment+"/1", apitest.AdminKey, nil).Status == http.StatusOK
	})
	latest := s.GetSnapshot(environment, "-1")
	apitest.Equal(s.T, latest.Index, 1)
	apitest.Equal(s.T, len(latest.Artifacts), 1)
}

// stopRedis stops the embedded Redis and removes its data.
func stopRedis(s *apitest.Service) {
	s.Redis.Close()
	s.Redis.FlushAll()
}
