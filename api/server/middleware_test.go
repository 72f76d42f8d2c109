package server

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/links"
	"attestry/scripts/readmetest"
)

func TestValidRequestIDsAreKeptAndOthersReplaced(t *testing.T) {
	s := start(t, testRoutes())
	for sent, taken := range map[string]bool{
		"abc-123": true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false, "": false, "a b": false, "é": false,
	} {
		got := s.send(t, "GET", links.Prefix+"/mine", "reader", "", "X-Request-ID", sent).header.Get("X-Request-ID")
		if (got == sent) != taken || got == "" {
			t.Errorf("sent %q, got %q", sent, got)
		}
	}
}

func TestErrorsOutsideOperationsCarryRequestIDs(t *testing.T) {
	s := start(t, testRoutes())
	if s.send(t, "GET", "/nothing", "", "").header.Get("X-Request-ID") == "" {
		t.Error("a 404 has no X-Request-ID")
	}
}

func TestTheLogHoldsNoSecrets(t *testing.T) {
	s := start(t, testRoutes())
	s.send(t, "GET", links.Prefix+"/mine?token=sesame", "wrong-secret-key", "")
	s.send(t, "GET", links.Prefix+"/mine?token=sesame", "admin", "")
	s.send(t, "POST", links.Prefix+"/hooks/sesame", "", "null")
	s.send(t, "GET", links.Prefix+"/nothing/sesame", "wrong-secret-key", "")
	text := s.journal.String()
	if strings.Count(text, `"msg":"request"`) != 4 {
		t.Errorf("not every request was logged:\n%s", text)
	}
	for _, secret := range []string{"wrong-secret-key", "sesame", "Bearer"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log holds %q:\n%s", secret, text)
		}
	}
}

func TestTheLogNamesRouteOrganizationAndUser(t *testing.T) {
	s := start(t, testRoutes())
	s.send(t, "GET", links.Prefix+"/things/acme/x", "reader", "")
	for _, want := range []string{`"route":"/things/{org}/{name}"`, `"org":"acme"`, `"status":200`, `"user":"reader"`, `"duration_ms":`} {
		if !strings.Contains(s.journal.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, s.journal)
		}
	}
}

func TestHandlersHaveADeadline(t *testing.T) {
	waiting := Route{Method: "GET", Path: "/wait", OperationID: "wait", Tag: "Wait", Summary: "Wait",
		Serve: Handle(func(ctx context.Context, _ *struct{}) (*textOutput, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})}
	s := start(t, []Route{waiting}, func(d *Deps) { d.RequestTimeout = 20 * time.Millisecond })
	s.send(t, "GET", links.Prefix+"/wait", "reader", "").expect(t, 503, overloadedMessage)
}

func TestRequestsAreMeasuredByRoute(t *testing.T) {
	s := start(t, testRoutes())
	for range 3 {
		s.send(t, "GET", links.Prefix+"/things/acme/x", "reader", "")
		s.send(t, "GET", "/any/"+evidence.NewID(), "reader", "")
	}
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		switch family.GetName() {
		case "attestry_http_request_duration_seconds":
			if got := len(family.GetMetric()); got != 2 {
				t.Errorf("%d series, want one for the operation and one for all unknown paths", got)
			}
		case "attestry_http_requests_in_flight":
			if got := family.GetMetric()[0].GetGauge().GetValue(); got != 0 {
				t.Errorf("%v requests in flight", got)
			}
		}
	}
	if len(families) != 5 {
		t.Errorf("%d metrics, want 5", len(families))
	}
}

func TestRequestsUnderWayFinishWhenTheServerStops(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	slow := Route{Method: "GET", Path: "/slow", OperationID: "slow", Tag: "Slow", Summary: "Slow",
		Serve: Handle(func(context.Context, *struct{}) (*textOutput, error) {
			close(entered)
			<-release
			return &textOutput{Status: 200, Body: "done"}, nil
		})}
	s := start(t, []Route{slow})
	answered := make(chan int, 1)
	go func() {
		request, _ := http.NewRequest("GET", s.url+links.Prefix+"/slow", nil)
		request.Header.Set("Authorization", "Bearer reader")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			answered <- 0
			return
		}
		response.Body.Close()
		answered <- response.StatusCode
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- s.app.ShutdownWithContext(context.Background()) }()
	for address := strings.TrimPrefix(s.url, "http://"); ; {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			break // the server has stopped listening
		}
		conn.Close()
	}
	close(release)
	if status := <-answered; status != 200 {
		t.Errorf("the request under way got %d", status)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestOperationsDescribesTheFieldsOfTheRequestLog(t *testing.T) {
	s := start(t, testRoutes())
	s.send(t, "GET", links.Prefix+"/things/acme/x", "reader", "")
	var line map[string]any
	if err := json.Unmarshal([]byte(s.journal.String()), &line); err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("\\| `request` \\| ([^|]*) \\|").FindStringSubmatch(readmetest.Read(t, "../../docs/operations.md"))
	if row == nil {
		t.Fatal("docs/operations.md does not describe the request log")
	}
	described := strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")
	for _, common := range []string{"time", "level", "msg"} {
		delete(line, common)
	}
	if got := slices.Sorted(maps.Keys(line)); !slices.Equal(got, slices.Sorted(slices.Values(described))) {
		t.Errorf("a line has %v, docs/operations.md describes %v", got, described)
	}
}
