package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/peers"
	"attestry/evidence"
)

// inTrace sends a request as an administrator in the trace with an id, "" for no trace.
func inTrace(s *apitest.Service, id, method, path string, body []byte) {
	s.T.Helper()
	request, err := http.NewRequestWithContext(s.T.Context(), method, s.URL+"/api/v2"+path, bytes.NewReader(body))
	s.Must(err)
	request.Header.Set("Authorization", "Bearer "+apitest.AdminKey)
	if id != "" {
		request.Header.Set("traceparent", "00-"+id+"-00f067aa0ba902b7-01")
	}
	if got := s.Send(request); got.Status >= http.StatusMultipleChoices {
		s.T.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
	}
}

// traced returns the different log lines of a trace as sorted messages and tasks.
func traced(s *apitest.Service, id string) []string {
	s.T.Helper()
	var lines []string
	for text := range strings.Lines(s.Log.String()) {
		var line struct {
			Message string `json:"msg"`
			Task    string `json:"task"`
			Trace   string `json:"trace_id"`
		}
		s.Must(json.Unmarshal([]byte(text), &line))
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
	r := peers.NewReceivers(t)
	s := apitest.Start(t, apitest.Options{Settings: r.Settings()})
	s.CreateEnvironment("host", evidence.Server)
	s.Want(http.StatusCreated, http.MethodPut, s.OrgActionsPath()+"/environments", fmt.Appendf(nil,
		`{"name": "tell", "environments": ["host"], "triggers": ["ON_STARTED_ARTIFACT"], "targets": [{"type": "WEBHOOK", "webhook": "%s/hook"}]}`, r.Web.URL))
	const first, second, packaged = "4bf92f3577b34da6a3ce929d0e0e4736", "5bf92f3577b34da6a3ce929d0e0e4736", "6bf92f3577b34da6a3ce929d0e0e4736"
	for i, id := range []string{first, "", second} {
		inTrace(s, id, http.MethodPut, s.EnvironmentsPath()+"/host/report/server", apitest.ServerReport(fmt.Sprint("artifact-", i)))
		apitest.Eventually(t, "the webhook is called", func() bool { return len(r.At("/hook")) == i+1 })
	}
	want := []string{"request", "task done delivery:send", "task done environment:report", "task done event:fanout"}
	for _, id := range []string{first, second} {
		apitest.Eventually(t, "all lines of the trace are there", func() bool { return slices.Equal(traced(s, id), want) })
	}

	s.CreateFlow("build")
	s.AttestGeneric("release", "checked", true, "")
	inTrace(s, packaged, http.MethodGet, "/trails/"+s.Org+"/build/release/audit_package", nil)
	apitest.Eventually(t, "all lines of the package are there", func() bool {
		return slices.Equal(traced(s, packaged), []string{"request", "task done package:assemble"})
	})
	if strings.Contains(s.Log.String(), `"trace_id":""`) {
		t.Error("a line has an empty trace")
	}
}
