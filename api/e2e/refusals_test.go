package e2e_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/scripts/fixturestest"
)

const badDigest = `{"artifacts":[{"digests":{"web":"ABC"},"creationTimestamp":1}]}`

func TestBadReportsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	for name, c := range map[string]struct {
		path, body string
		status     int
		message    string
		field      string // a location among the errors, "" for none
		text       string // how its text begins
	}{
		"unknown environment": {"none/report/server", string(fixturestest.Read("server-report.json")), 404,
			"Environment named 'none' does not exist for organization '" + s.Org + "'", "", ""},
		"wrong type of report": {"host/report/K8S", string(fixturestest.Read("k8s-report-1.json")), 400,
			"Invalid report data", "type", "Environment 'host' takes reports of type 'server' [input: K8S]"},
		"33 MiB": {"host/report/server", strings.Repeat(" ", 33<<20), 413, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.In(t)
			got := s.Do(http.MethodPut, "/api/v2/environments/"+s.Org+"/"+c.path, apitest.SnapshotterKey, []byte(c.body))
			if got.Status != c.status {
				t.Errorf("status %d, want %d: %s", got.Status, c.status, got.Body)
				return
			}
			message, errors := got.Problem(t)
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
	s.AssertNothingStored("host")
}

func TestAccessDependsOnTheKey(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	report := "/api/v2/environments/" + s.Org + "/host/report/server"
	for name, c := range map[string]struct {
		method, path, authorization string
		status                      int
		message                     string
	}{
		"no key":         {"PUT", report, "", 401, ""},
		"unknown key":    {"PUT", report, "Bearer key-that-nobody-has", 401, ""},
		"expired key":    {"PUT", report, "Bearer " + apitest.ExpiredKey, 401, ""},
		"broken header":  {"PUT", report, "Bearer", 401, ""},
		"other scheme":   {"PUT", report, "Digest " + apitest.AdminKey, 401, ""},
		"no colon":       {"GET", "/api/v2/environments/" + s.Org, "Basic a2V5LW9mLXRoZS1hZG1pbmlzdHJhdG9y", 401, ""},
		"basic":          {"GET", "/api/v2/environments/" + s.Org, "Basic a2V5LW9mLXRoZS1hZG1pbmlzdHJhdG9yOg==", 200, ""},
		"basic and more": {"GET", "/api/v2/environments/" + s.Org, "Basic a2V5LW9mLXRoZS1hZG1pbmlzdHJhdG9yOnBhc3M=", 200, ""},
		"stranger":       {"PUT", report, "Bearer " + apitest.StrangerKey, 403, "Access denied to " + report},
		"no such organization": {"GET", "/api/v2/environments/nowhere", "Bearer " + apitest.AdminKey, 403,
			"Access denied to /api/v2/environments/nowhere"},
		"reader reports": {"PUT", report, "Bearer " + apitest.ReaderKey, 403, "You don't have permission to access this resource"},
		"reader reads":   {"GET", "/api/v2/snapshots/" + s.Org + "/host", "Bearer " + apitest.ReaderKey, 200, ""},
		"public read":    {"GET", "/api/v2/environments/" + s.Public, "Bearer " + apitest.StrangerKey, 200, ""},
		"public write":   {"PUT", "/api/v2/environments/" + s.Public, "Bearer " + apitest.StrangerKey, 403, "You don't have permission to access this resource"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.In(t)
			request, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path, bytes.NewReader([]byte(badDigest)))
			if err != nil {
				t.Fatal(err)
			}
			if c.authorization != "" {
				request.Header.Set("Authorization", c.authorization)
			}
			got := s.Send(request)
			if got.Status != c.status {
				t.Errorf("status %d, want %d: %s", got.Status, c.status, got.Body)
				return
			}
			if c.status == http.StatusUnauthorized && got.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("WWW-Authenticate is %q", got.Header.Get("WWW-Authenticate"))
			}
			if c.status < 400 {
				return
			}
			message, _ := got.Problem(t)
			if message == "" || c.message != "" && message != c.message {
				t.Errorf("message %q, want %q", message, c.message)
			}
		})
	}
	s.AssertNothingStored("host")
}

func TestUnknownSnapshotsAreNotFound(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	for expression, want := range map[string]string{
		"-1":        "Org: '" + s.Org + "'. Snapshot 'prod#-1' resolves to 'prod#0'. len(snapshots) == 0. Indexes are 1-based",
		"23":        "Org: '" + s.Org + "'. Snapshot 'prod#23' resolves to 'prod#23'. len(snapshots) == 0. Indexes are 1-based",
		"%2323":     "Org: '" + s.Org + "'. Snapshot 'prod#23' resolves to 'prod#23'. len(snapshots) == 0. Indexes are 1-based",
		"~2":        "Org: '" + s.Org + "'. Snapshot 'prod~2' resolves to 'prod#-2'. len(snapshots) == 0. Indexes are 1-based",
		"../none/1": "",
	} {
		t.Run(expression, func(t *testing.T) {
			s := s.In(t)
			got := s.Do(http.MethodGet, "/api/v2/snapshots/"+s.Org+"/prod/"+expression, apitest.AdminKey, nil)
			message, _ := got.Problem(t)
			if got.Status != http.StatusNotFound || want != "" && message != want {
				t.Errorf("%d %q", got.Status, message)
			}
		})
	}
	got := s.Do(http.MethodGet, "/api/v2/snapshots/"+s.Org+"/prod/five", apitest.AdminKey, nil)
	if message, _ := got.Problem(t); got.Status != http.StatusBadRequest || message != "Bad snappish five" {
		t.Errorf("five: %d %q", got.Status, message)
	}
	got = s.Do(http.MethodGet, "/api/v2/snapshots/"+s.Org+"/none/1", apitest.AdminKey, nil)
	if message, _ := got.Problem(t); got.Status != http.StatusNotFound || message != "Environment named 'none' does not exist for organization '"+s.Org+"'" {
		t.Errorf("unknown environment: %d %q", got.Status, message)
	}
}
