package e2e_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/scripts/fixturestest"
)

const badDigest = `{"artifacts":[{"digests":{"web":"ABC"},"creationTimestamp":1}]}`

func TestBadReportsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("host", evidence.Server)
	for name, c := range map[string]struct {
		path, body string
		status     int
		message    string
		field      string // a location among the errors, "" for none
		text       string // how its text begins
	}{
		"unknown environment": {"none/report/server", string(fixturestest.Read("server-report.json")), 404,
			"Environment named 'none' does not exist for organization '" + s.org + "'", "", ""},
		"wrong type of report": {"host/report/K8S", string(fixturestest.Read("k8s-report-1.json")), 400,
			"Invalid report data", "type", "Environment 'host' takes reports of type 'server' [input: K8S]"},
		"33 MiB": {"host/report/server", strings.Repeat(" ", 33<<20), 413, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := s.do(http.MethodPut, "/api/v2/environments/"+s.org+"/"+c.path, snapshotterKey, []byte(c.body))
			if got.status != c.status {
				t.Errorf("status %d, want %d: %s", got.status, c.status, got.body)
				return
			}
			message, errors := got.problem(t)
			if c.message != "" && message != c.message {
				t.Errorf("message %q, want %q", message, c.message)
			}
			if c.field == "" {
				return
			}
			if text, ok := errors[c.field]; !ok || !strings.HasPrefix(text, c.text) || !strings.Contains(text, "[input: ") {
				t.Errorf("errors %q, want %s: %q", errors, c.field, c.text)
			}
		})
	}
	s.assertNothingStored("host")
}

func (s *service) assertNothingStored(environment string) {
	s.t.Helper()
	id := s.environmentID(environment)
	head, err := s.Process.Store.Heads.Get(s.t.Context(), id)
	if err != nil || head.Processed != 0 || head.Last != 0 || head.LastReportedAt != 0 {
		s.t.Errorf("something was processed: %+v, %v", head, err)
	}
	if waits, err := s.Process.Store.Reports.Exists(s.t.Context(), id, 1); err != nil || waits {
		s.t.Errorf("a report was stored, %v", err)
	}
}

func TestAccessDependsOnTheKey(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("host", evidence.Server)
	report := "/api/v2/environments/" + s.org + "/host/report/server"
	for name, c := range map[string]struct {
		method, path, authorization string
		status                      int
		message                     string
	}{
		"no key":         {"PUT", report, "", 401, ""},
		"unknown key":    {"PUT", report, "Bearer key-that-nobody-has", 401, ""},
		"expired key":    {"PUT", report, "Bearer " + expiredKey, 401, ""},
		"broken header":  {"PUT", report, "Bearer", 401, ""},
		"other scheme":   {"PUT", report, "Digest " + adminKey, 401, ""},
		"no colon":       {"GET", "/api/v2/environments/" + s.org, "Basic a2V5LW9mLXRoZS1hZG1pbmlzdHJhdG9y", 401, ""},
		"basic":          {"GET", "/api/v2/environments/" + s.org, "Basic a2V5LW9mLXRoZS1hZG1pbmlzdHJhdG9yOg==", 200, ""},
		"basic and more": {"GET", "/api/v2/environments/" + s.org, "Basic a2V5LW9mLXRoZS1hZG1pbmlzdHJhdG9yOnBhc3M=", 200, ""},
		"stranger":       {"PUT", report, "Bearer " + strangerKey, 403, "Access denied to " + report},
		"no such organization": {"GET", "/api/v2/environments/nowhere", "Bearer " + adminKey, 403,
			"Access denied to /api/v2/environments/nowhere"},
		"reader reports": {"PUT", report, "Bearer " + readerKey, 403, "You don't have permission to access this resource"},
		"reader reads":   {"GET", "/api/v2/snapshots/" + s.org + "/host", "Bearer " + readerKey, 200, ""},
		"public read":    {"GET", "/api/v2/environments/" + s.public, "Bearer " + strangerKey, 200, ""},
		"public write":   {"PUT", "/api/v2/environments/" + s.public, "Bearer " + strangerKey, 403, "You don't have permission to access this resource"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			request, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path, bytes.NewReader([]byte(badDigest)))
			if err != nil {
				t.Fatal(err)
			}
			if c.authorization != "" {
				request.Header.Set("Authorization", c.authorization)
			}
			got := s.send(request)
			if got.status != c.status {
				t.Errorf("status %d, want %d: %s", got.status, c.status, got.body)
				return
			}
			if c.status == http.StatusUnauthorized && got.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("WWW-Authenticate is %q", got.header.Get("WWW-Authenticate"))
			}
			if c.status < 400 {
				return
			}
			message, _ := got.problem(t)
			if message == "" || c.message != "" && message != c.message {
				t.Errorf("message %q, want %q", message, c.message)
			}
		})
	}
	s.assertNothingStored("host")
}

func TestUnknownSnapshotsAreNotFound(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	for expression, want := range map[string]string{
		"-1":        "Org: '" + s.org + "'. Snapshot 'prod#-1' resolves to 'prod#0'. len(snapshots) == 0. Indexes are 1-based",
		"23":        "Org: '" + s.org + "'. Snapshot 'prod#23' resolves to 'prod#23'. len(snapshots) == 0. Indexes are 1-based",
		"%2323":     "Org: '" + s.org + "'. Snapshot 'prod#23' resolves to 'prod#23'. len(snapshots) == 0. Indexes are 1-based",
		"~2":        "Org: '" + s.org + "'. Snapshot 'prod~2' resolves to 'prod#-2'. len(snapshots) == 0. Indexes are 1-based",
		"../none/1": "",
	} {
		t.Run(expression, func(t *testing.T) {
			s := s.in(t)
			got := s.do(http.MethodGet, "/api/v2/snapshots/"+s.org+"/prod/"+expression, adminKey, nil)
			message, _ := got.problem(t)
			if got.status != http.StatusNotFound || want != "" && message != want {
				t.Errorf("%d %q", got.status, message)
			}
		})
	}
	got := s.do(http.MethodGet, "/api/v2/snapshots/"+s.org+"/prod/five", adminKey, nil)
	if message, _ := got.problem(t); got.status != http.StatusBadRequest || message != "Bad snappish five" {
		t.Errorf("five: %d %q", got.status, message)
	}
	got = s.do(http.MethodGet, "/api/v2/snapshots/"+s.org+"/none/1", adminKey, nil)
	if message, _ := got.problem(t); got.status != http.StatusNotFound || message != "Environment named 'none' does not exist for organization '"+s.org+"'" {
		t.Errorf("unknown environment: %d %q", got.status, message)
	}
}
