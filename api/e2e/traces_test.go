package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
)

// inTrace sends a request as an administrator in the trace with an id, "" for no trace.
func (s *service) inTrace(id, method, path string, body []byte) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"/api/v2"+path, bytes.NewReader(body))
	s.must(err)
	request.Header.Set("Authorization", "Bearer "+adminKey)
	if id != "" {
		request.Header.Set("traceparent", "00-"+id+"-00f067aa0ba902b7-01")
	}
	if got := s.send(request); got.status >= http.StatusMultipleChoices {
		s.t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
	}
}

// traced returns the different log lines of a trace as sorted messages and tasks.
func (s *service) traced(id string) []string {
	s.t.Helper()
	var lines []string
	for text := range strings.Lines(s.log.String()) {
		var line struct {
			Message string `json:"msg"`
			Task    string `json:"task"`
			Trace   string `json:"trace_id"`
		}
		s.must(json.Unmarshal([]byte(text), &line))
		if entry := strings.TrimSpace(line.Message + " " + line.Task); line.Trace == id && !slices.Contains(lines, entry) {
			lines = append(lines, entry)
		}
	}
	slices.Sort(lines)
	return lines
}

// TestTasksAreLoggedInTheTraceOfTheirRequest sends reports in two traces, and between them one without a trace.
func TestTasksAreLoggedInTheTraceOfTheirRequest(t *testing.T) {
	t.Parallel()
	r := newReceivers(t)
	s := start(t, options{settings: r.settings()})
	s.createEnvironment("host", evidence.Server)
	s.want(http.StatusCreated, http.MethodPut, s.orgActionsPath()+"/environments", fmt.Appendf(nil,
		`{"name": "tell", "environments": ["host"], "triggers": ["ON_STARTED_ARTIFACT"], "targets": [{"type": "WEBHOOK", "webhook": "%s/hook"}]}`, r.web.URL))
	const first, second, packaged = "4bf92f3577b34da6a3ce929d0e0e4736", "5bf92f3577b34da6a3ce929d0e0e4736", "6bf92f3577b34da6a3ce929d0e0e4736"
	for i, id := range []string{first, "", second} {
		s.inTrace(id, http.MethodPut, s.environmentsPath()+"/host/report/server", serverReport(fmt.Sprint("artifact-", i)))
		eventually(t, "the webhook is called", func() bool { return len(r.at("/hook")) == i+1 })
	}
	want := []string{"request", "task done delivery:send", "task done environment:report", "task done event:fanout"}
	for _, id := range []string{first, second} {
		eventually(t, "all lines of the trace are there", func() bool { return slices.Equal(s.traced(id), want) })
	}

	s.createFlow("build")
	s.attestGeneric("release", "checked", true, "")
	s.inTrace(packaged, http.MethodGet, "/trails/"+s.org+"/build/release/audit_package", nil)
	eventually(t, "all lines of the package are there", func() bool {
		return slices.Equal(s.traced(packaged), []string{"request", "task done package:assemble"})
	})
	if strings.Contains(s.log.String(), `"trace_id":""`) {
		t.Error("a line has an empty trace")
	}
}
