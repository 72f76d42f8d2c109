package e2e_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	*service
	counted float64
}

func (s *recognizing) recognized() float64 { return s.metric("attestry_reports_recognized_total") }

// wantReport sends a report and checks its answer and whether it was recognized.
func (s *recognizing) wantReport(environment, kind, body, answer string, recognized bool) {
	s.t.Helper()
	status := http.StatusOK
	if answer == createdText {
		status = http.StatusCreated
	}
	if got := s.report(status, environment, kind, body).text(s.t); got != answer {
		s.t.Errorf("answered %q, want %q", got, answer)
	}
	was := s.recognized() - s.counted
	s.counted += was
	if (was == 1) != recognized || was > 1 {
		s.t.Errorf("%v reports were recognized: %s", was, body)
	}
}

func startRecognizing(t *testing.T, o options) *recognizing {
	t.Helper()
	s := &recognizing{service: start(t, o)}
	s.createEnvironment("host", evidence.Server)
	return s
}

// file returns an artifact of a server report.
func file(name string) string {
	return `{"digests":{"/opt/` + name + `":"` + digestOf(name) + `"},"creationTimestamp":1788990000}`
}

func files(artifacts ...string) string { return `{"artifacts":[` + strings.Join(artifacts, ",") + `]}` }

func TestElementsOfTheLastReportAreRecognizedInAnyOrder(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, options{stoppedAt: time.Unix(1_790_000_000, 0)})
	a, b, c := file("a"), file("b"), file("c")
	s.wantReport("host", "server", files(a, b, c), createdText, false)
	for _, body := range []string{files(c, a, b), files(a, b, c), strings.ReplaceAll(files(b, c, a), "},{", "} ,\n {")} {
		s.clock.advance(time.Minute)
		before := evidence.Seconds(s.clock.read())
		s.wantReport("host", "server", body, unchangedText, true)
		moved := *s.getEnvironment("host").LastReportedAt
		if moved < before {
			t.Errorf("the last report came at %f, not after %f", moved, before)
		}
		s.wantReport("host", "server", body, unchangedText, true)
		if again := *s.getEnvironment("host").LastReportedAt; again != moved {
			t.Errorf("the time of the last report moved twice in a second, to %f", again)
		}
	}
	if got := s.getSnapshot("host", "-1"); got.Index != 1 {
		t.Errorf("there are %d snapshots", got.Index)
	}
}

func TestReportsWithOtherBytesAreDecoded(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, options{})
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
	s := startRecognizing(t, options{})
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
			if got := s.do(http.MethodPut, "/api/v2"+s.environmentsPath()+"/host/report/server", adminKey, []byte(body)); got.status != http.StatusBadRequest {
				t.Errorf("%s: answered %d %s", what, got.status, got.body)
			}
		}
	}
	s.wantReport("host", "server", good, unchangedText, true)
}

func TestRecognizedReportsNeedTheSameAccessAndEnvironment(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, options{})
	body := files(file("a"))
	path := "/api/v2" + s.environmentsPath() + "/host/report/server"
	s.wantReport("host", "server", body, createdText, false)
	s.wantReport("host", "server", body, unchangedText, true)
	for key, want := range map[string]int{
		snapshotterKey: http.StatusOK, readerKey: http.StatusForbidden, strangerKey: http.StatusForbidden, expiredKey: http.StatusUnauthorized,
	} {
		if got := s.do(http.MethodPut, path, key, []byte(body)); got.status != want {
			t.Errorf("%s: answered %d %s", userOf(key), got.status, got.body)
		}
	}
	s.report(http.StatusBadRequest, "host", "docker", body)
	s.report(http.StatusNotFound, "other", "server", body)
	s.counted = s.recognized()

	s.createEnvironment("other", evidence.Server)
	s.wantReport("other", "server", body, createdText, false)
	s.want(http.StatusCreated, http.MethodPut, "/environments/"+s.public, []byte(`{"name":"host","type":"server","description":"d"}`))
	s.want(http.StatusCreated, http.MethodPut, "/environments/"+s.public+"/host/report/server", []byte(body))
	s.archiveEnvironment("host")
	s.report(http.StatusNotFound, "host", "server", body)
	if s.recognized() != s.counted {
		t.Error("a report to another environment was recognized")
	}
}

func TestOperationsDoNotShareReports(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, options{})
	s.createEnvironment("functions", evidence.Lambda)
	body := files(file("a"))
	s.wantReport("functions", "lambda", body, createdText, false)
	s.wantReport("functions", "serverless", body, unchangedText, false)
	s.wantReport("functions", "serverless", body, unchangedText, true)
	s.wantReport("functions", "lambda", body, unchangedText, false)
}

func TestReportBeforeTheLastIsNotRecognized(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, options{})
	a, b := file("a"), file("b")
	s.wantReport("host", "server", files(a), createdText, false)
	s.wantReport("host", "server", files(a), unchangedText, true)
	// Another process accepts the next report, and this process does not know of it.
	store, environment := s.Process.Store, s.environmentID("host")
	other := reports.NewIntake(store, noQueue{}, noQueue{}, s.clock.read, 0)
	_, err := other.Accept(t.Context(), reports.Submission{
		Org: s.orgID(), Environment: environment,
		Report: snapshot.Canonical(evidence.Server, []snapshot.Instance{{Digests: map[string]string{"/opt/b": digestOf("b")}, CreatedAt: 1_788_990_000}}),
	})
	s.must(err)
	s.wantReport("host", "server", files(a), createdText, false)
	s.wantReport("host", "server", files(b), createdText, false)
	if got := s.getSnapshot("host", "-1"); got.Index != 4 {
		t.Errorf("there are %d snapshots", got.Index)
	}
}

// noQueue dispatches nothing: a report waits until a worker scans for it.
type noQueue struct{}

func (noQueue) Dispatch(context.Context, *job.Kind, string, int64) {}
func (noQueue) Unreachable() bool                                  { return true }
func (noQueue) Register(string) (wake <-chan struct{}, leave func(), ok bool) {
	return nil, func() {}, false
}

func TestRecognizedReportIsEvaluatedAgainOnceFactsHaveChanged(t *testing.T) {
	t.Parallel()
	s := startRecognizing(t, options{})
	body := files(file("a"))
	s.wantReport("host", "server", body, createdText, false)
	s.wantReport("host", "server", body, unchangedText, true)
	s.must(s.Process.Store.Generations.Bump(t.Context(), s.orgID()))
	s.wantReport("host", "server", body, unchangedText, false)
	s.wantReport("host", "server", body, unchangedText, true)
	s.createFlow("shop")
	s.reportArtifact("shop", "trail", "app", digestOf("a"), commitOf("a"))
	s.wantReport("host", "server", body, createdText, false)
	s.wantReport("host", "server", body, unchangedText, true)
}

func TestReportsAreRecognizedAgainAfterARestart(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	body := files(file("a"))
	t.Run("before", func(t *testing.T) {
		s := startRecognizing(t, options{data: data})
		s.wantReport("host", "server", body, createdText, false)
		s.wantReport("host", "server", body, unchangedText, true)
	})
	s := &recognizing{service: start(t, options{data: data})}
	s.wantReport("host", "server", body, unchangedText, false)
	s.wantReport("host", "server", body, unchangedText, true)
}
