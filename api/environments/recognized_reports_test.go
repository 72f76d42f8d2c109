package environments_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/tasks/reports"
)

// Answers to reports.
const (
	createdText   = "OK"
	unchangedText = "report processed, no new snapshots to create"
)

// recognizing is a service and the number of recognized reports at the last count.
type recognizing struct {
	*apitest.Service
	counted float64
}

func (s *recognizing) recognized() float64 { return s.Metric("attestry_reports_recognized_total") }

// wantReport sends a report and checks its answer and whether it was recognized.
func (s *recognizing) wantReport(environment, kind, body, answer string, recognized bool) {
	s.T.Helper()
	status := http.StatusOK
	if answer == createdText {
		status = http.StatusCreated
	}
	apitest.Equal(s.T, s.Report(status, environment, kind, body).Text(s.T), answer, "answered")
	was := s.recognized() - s.counted
	s.counted += was
	if (was == 1) != recognized || was > 1 {
		s.T.Errorf("%v reports were recognized: %s", was, body)
	}
}

func startRecognizing(t *testing.T, o apitest.Options) *recognizing {
	t.Helper()
	s := &recognizing{Service: apitest.Start(t, o)}
	s.CreateEnvironment("host", evidence.Server)
	return s
}

// file returns an artifact of a server report.
func file(name string) string {
	return `{"digests":{"/opt/` + name + `":"` + apitest.DigestOf(name) + `"},"creationTimestamp":1788990000}`
}

func files(artifacts ...string) string { return `{"artifacts":[` + strings.Join(artifacts, ",") + `]}` }

func TestElementsOfTheLastReportAreRecognizedInAnyOrder(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, apitest.Options{StoppedAt: time.Unix(1_790_000_000, 0)})
	a, b, c := file("a"), file("b"), file("c")
	s.wantReport("host", "server", files(a, b, c), createdText, false)
	for _, body := range []string{files(c, a, b), files(a, b, c), strings.ReplaceAll(files(b, c, a), "},{", "} ,\n {")} {
		s.Clock.Advance(time.Minute)
		before := evidence.Seconds(s.Clock.Read())
		s.wantReport("host", "server", body, unchangedText, true)
		moved := *s.GetEnvironment("host").LastReportedAt
		if moved < before {
			t.Errorf("the last report came at %f, not after %f", moved, before)
		}
		s.wantReport("host", "server", body, unchangedText, true)
		if again := *s.GetEnvironment("host").LastReportedAt; again != moved {
			t.Errorf("the time of the last report moved twice in a second, to %f", again)
		}
	}
	apitest.Equal(t, s.GetSnapshot("host", "-1").Index, 1, "snapshots")
}

func TestReportsWithOtherBytesAreDecoded(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, apitest.Options{})
	a, b := file("a"), file("b")
	s.wantReport("host", "server", files(a, b), createdText, false)
	for _, same := range []string{
		strings.Replace(files(a, b), "1788990000", "1788990001", 1),
		strings.Replace(files(a, b), "{", `{"type":"server",`, 1),
		strings.Replace(files(a, b), `"digests":`, `"digests": `, 1),
	} {
		s.wantReport("host", "server", same, unchangedText, false)
		s.wantReport("host", "server", same, unchangedText, true)
	}
	// A repeated element is another instance: it makes no snapshot, but the digest of the report changes.
	s.wantReport("host", "server", files(a, b, b), unchangedText, false)
	s.wantReport("host", "server", files(b, a, b), unchangedText, true)
	s.wantReport("host", "server", files(a, b, a), unchangedText, false)
	s.wantReport("host", "server", files(a), createdText, false)
	s.wantReport("host", "server", files(a, b), createdText, false)
}

func TestInvalidReportsWithKnownElementsAreRefused(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, apitest.Options{})
	a, b := file("a"), file("b")
	good := files(a, b)
	s.wantReport("host", "server", good, createdText, false)
	for what, body := range map[string]string{
		"no comma":           `{"artifacts":[` + a + b + `]}`,
		"two commas":         `{"artifacts":[` + a + `,,` + b + `]}`,
		"a comma at the end": `{"artifacts":[` + a + `,` + b + `,]}`,
		"no end":             strings.TrimSuffix(good, "}"),
		"another value":      good + good,
		"no UTF-8":           good + "\xff",
		"another type":       strings.Replace(good, "{", `{"type":"K8S",`, 1),
		"an unknown member":  strings.Replace(good, "{", `{"kind":"server",`, 1),
		"a second array":     strings.TrimSuffix(good, "}") + `,"artifacts":null}`,
	} {
		for range 2 {
			if got := s.Do(http.MethodPut, "/api/v2"+s.EnvironmentsPath()+"/host/report/server", apitest.AdminKey, []byte(body)); got.Status != http.StatusBadRequest {
				t.Errorf("%s: answered %d %s", what, got.Status, got.Body)
			}
		}
	}
	s.wantReport("host", "server", good, unchangedText, true)
}

func TestRecognizedReportsNeedTheSameAccessAndEnvironment(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, apitest.Options{})
	body := files(file("a"))
	path := "/api/v2" + s.EnvironmentsPath() + "/host/report/server"
	s.wantReport("host", "server", body, createdText, false)
	s.wantReport("host", "server", body, unchangedText, true)
	for key, want := range map[string]int{
		apitest.SnapshotterKey: http.StatusOK, apitest.ReaderKey: http.StatusForbidden, apitest.StrangerKey: http.StatusForbidden, apitest.ExpiredKey: http.StatusUnauthorized,
	} {
		apitest.WantAnswer(t, s.Do(http.MethodPut, path, key, []byte(body)), want)
	}
	s.Report(http.StatusBadRequest, "host", "docker", body)
	s.Report(http.StatusNotFound, "other", "server", body)
	s.counted = s.recognized()

	s.CreateEnvironment("other", evidence.Server)
	s.wantReport("other", "server", body, createdText, false)
	s.Want(http.StatusCreated, http.MethodPut, "/environments/"+s.Public, []byte(`{"name":"host","type":"server","description":"d"}`))
	s.Want(http.StatusCreated, http.MethodPut, "/environments/"+s.Public+"/host/report/server", []byte(body))
	s.ArchiveEnvironment("host")
	s.Report(http.StatusNotFound, "host", "server", body)
	apitest.Equal(t, s.recognized(), s.counted, "a report to another environment was recognized")
}

func TestOperationsDoNotShareReports(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, apitest.Options{})
	s.CreateEnvironment("functions", evidence.Lambda)
	body := files(file("a"))
	s.wantReport("functions", "lambda", body, createdText, false)
	s.wantReport("functions", "serverless", body, unchangedText, false)
	s.wantReport("functions", "serverless", body, unchangedText, true)
	s.wantReport("functions", "lambda", body, unchangedText, false)
}

func TestReportBeforeTheLastIsNotRecognized(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, apitest.Options{})
	a, b := file("a"), file("b")
	s.wantReport("host", "server", files(a), createdText, false)
	s.wantReport("host", "server", files(a), unchangedText, true)
	// Another process accepts the next report, and this process does not know of it.
	store, environment := s.Process.Store, s.EnvironmentID("host")
	other := reports.NewIntake(store, noQueue{}, noQueue{}, s.Clock.Read, 0)
	_, err := other.Accept(t.Context(), reports.Submission{
		Org: s.OrgID(), Environment: environment,
		Report: snapshot.Canonical(evidence.Server, []snapshot.Instance{{Digests: map[string]string{"/opt/b": apitest.DigestOf("b")}, CreatedAt: 1_788_990_000}}),
	})
	s.Must(err)
	s.wantReport("host", "server", files(a), createdText, false)
	s.wantReport("host", "server", files(b), createdText, false)
	apitest.Equal(t, s.GetSnapshot("host", "-1").Index, 4, "snapshots")
}

// noQueue dispatches nothing: a report waits until a worker scans for it.
type noQueue struct{}

func (noQueue) Dispatch(context.Context, *job.Kind, string, int64) {}

func (noQueue) Unreachable() bool { return true }

func (noQueue) Register(string) (wake <-chan struct{}, leave func(), ok bool) {
	return nil, func() {}, false
}

func TestRecognizedReportIsEvaluatedAgainOnceFactsHaveChanged(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, apitest.Options{})
	body := files(file("a"))
	s.wantReport("host", "server", body, createdText, false)
	s.wantReport("host", "server", body, unchangedText, true)
	s.Must(s.Process.Store.Generations.Bump(t.Context(), s.OrgID()))
	s.wantReport("host", "server", body, unchangedText, false)
	s.wantReport("host", "server", body, unchangedText, true)
	s.CreateFlow("shop")
	s.ReportArtifact("shop", "trail", "app", apitest.DigestOf("a"), apitest.CommitOf("a"))
	s.wantReport("host", "server", body, createdText, false)
	s.wantReport("host", "server", body, unchangedText, true)
}

func TestReportsAreRecognizedAgainAfterARestart(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	body := files(file("a"))
	t.Run("before", func(t *testing.T) {
		s := startRecognizing(t, apitest.Options{Data: data})
		s.wantReport("host", "server", body, createdText, false)
		s.wantReport("host", "server", body, unchangedText, true)
	})
	s := &recognizing{Service: apitest.Start(t, apitest.Options{Data: data})}
	s.wantReport("host", "server", body, unchangedText, false)
	s.wantReport("host", "server", body, unchangedText, true)
}
