package snapshots_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

// auditLog downloads an audit log and returns its rows as maps by column name.
func auditLog(s *apitest.Service, environment, query string) []map[string]string {
	s.T.Helper()
	got := s.Want(http.StatusOK, http.MethodGet, s.EnvironmentsPath()+"/"+environment+"/auditlog"+query, nil)
	rows, err := csv.NewReader(strings.NewReader(string(got.Body))).ReadAll()
	if err != nil || len(rows) == 0 {
		s.T.Fatalf("%s: no CSV with a header: %v: %s", query, err, got.Body)
	}
	named := []map[string]string{}
	for _, row := range rows[1:] {
		cells := map[string]string{}
		for i, column := range rows[0] {
			cells[column] = row[i]
		}
		named = append(named, cells)
	}
	return named
}

func wantAuditLog(s *apitest.Service, environment, query string, want ...string) {
	s.T.Helper()
	got := []string{}
	for _, row := range auditLog(s, environment, query) {
		got = append(got, fmt.Sprint(strings.TrimPrefix(row["artifact_name"], "/opt/"), " ", row["type"], " #", row["snapshot_index"]))
	}
	apitest.EqualList(s.T, got, want, environment, query)
}

func TestAuditLogIsACSVFileOfTheEventLog(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	reportFromRepo(s, "app-ci", "app-1", apitest.FirstCommit, "acme/app")
	reportFromRepo(s, "app-ci", "app-2", apitest.SecondCommit, "acme/app")
	reportFromRepo(s, "release", "app-2", apitest.SecondCommit, "acme/app")
	s.ReportServer("prod", "app-1", "stranger")
	s.ReportServer("prod", "app-2", "app-2", "stranger")

	path := "/api/v2" + s.EnvironmentsPath() + "/prod/auditlog"
	got := s.Do(http.MethodGet, path, apitest.ReaderKey, nil)
	apitest.Equal(t, got.Status, http.StatusOK)
	apitest.Equal(t, got.Header.Get("Content-Type"), "text/csv; charset=utf-8")
	apitest.Equal(t, got.Header.Get("Content-Disposition"), "attachment; filename=prod-audit-log.csv")
	header, _, _ := strings.Cut(string(got.Body), "\n")
	if want := "environment_name,snapshot_index,artifact_name,sha256,description,reported_at,reported_at_utc,pipeline,flows,artifact_compliance," +
		"snapshot_compliance,type,code_diff,artifact_url,artifact_html_url,snapshot_url,snapshot_html_url"; header != want {
		t.Errorf("columns are %s", header)
	}
	if head := s.Do(http.MethodHead, path, apitest.ReaderKey, nil); head.Status != http.StatusOK || len(head.Body) != 0 ||
		head.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("HEAD: %d %v %q", head.Status, head.Header, head.Body)
	}
	rows := auditLog(s, "prod", "")
	events := s.Read(s.EnvironmentsPath() + "/prod/events?reverse=true").([]any)
	if len(rows) != len(events) {
		t.Fatalf("%d rows for %d events", len(rows), len(events))
	}
	for i, event := range events {
		assertAuditRow(t, rows[i], event)
	}
	if rows[2]["flows"] != "app-ci,release" || rows[2]["artifact_name"] != "/opt/app-2" {
		t.Errorf("the artifact of two flows: %v", rows[2])
	}
}

// assertAuditRow compares a row of the audit log with its event.
func assertAuditRow(t *testing.T, row map[string]string, event any) {
	t.Helper()
	for column, path := range map[string][]any{
		"environment_name": {"environment_name"}, "artifact_name": {"artifact_name"}, "sha256": {"sha256"}, "description": {"description"},
		"pipeline": {"pipeline"}, "type": {"type"}, "code_diff": {"code_diff"}, "snapshot_compliance": {"snapshot_compliance"},
		"snapshot_url": {"_links", "snapshot", "self"}, "snapshot_html_url": {"_links", "snapshot", "html"}, "snapshot_index": {"snapshot_index"},
		"artifact_compliance": {"artifact_compliance"},
	} {
		if want := apitest.Lookup(t, event, path...); row[column] != cell(want) {
			t.Errorf("%s is %q, want %v", column, row[column], want)
		}
	}
	if artifact := apitest.Lookup(t, event, "_links", "artifact"); artifact == nil && row["artifact_url"]+row["artifact_html_url"] != "" ||
		artifact != nil && (row["artifact_url"] != apitest.Lookup(t, artifact, "self") || row["artifact_html_url"] != apitest.Lookup(t, artifact, "html")) {
		t.Errorf("the artifact's links are %s and %s, want %v", row["artifact_url"], row["artifact_html_url"], artifact)
	}
	seconds, err := strconv.ParseFloat(row["reported_at"], 64)
	if err != nil || seconds != apitest.Lookup(t, event, "reported_at") {
		t.Errorf("reported at %s, %v", row["reported_at"], err)
	}
	if when, err := time.Parse(time.RFC3339, row["reported_at_utc"]); err != nil || evidence.Seconds(when) != seconds || !strings.HasSuffix(row["reported_at_utc"], "Z") {
		t.Errorf("reported at %s, %v", row["reported_at_utc"], err)
	}
}

// cell formats a value as the audit log does.
func cell(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

func TestAuditLogIsFiltered(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{StoppedAt: firstOfOctober})
	s.CreateEnvironment("prod", evidence.Server)
	reportFromRepo(s, "web-ci", "web", apitest.FirstCommit, "acme/web")
	reportFromRepo(s, "db-ci", "db", apitest.FirstCommit, "acme/db")
	reportFromRepo(s, "promotion", "db", apitest.FirstCommit, "acme/infra")
	reportFromRepo(s, "idle-ci", "idle", apitest.FirstCommit, "acme/idle")
	for _, running := range [][]string{{"web"}, {"web", "new"}, {"new"}, {"new", "db"}} {
		s.ReportServer("prod", running...)
		s.Clock.Advance(time.Hour)
	}
	reportFromRepo(s, "new-ci", "new", apitest.FirstCommit, "acme/new")
	s.ReportServer("prod", "new", "db")
	const (
		webStarts, newStarts, webExits = "web started-unknown #1", "new started-unknown #2", "web exited #3"
		dbStarts, newChanges           = "db started-unknown #4", "new updated-provenance #5"
	)
	all := []string{webStarts, newStarts, webExits, dbStarts, newChanges}
	for query, want := range map[string][]string{
		"":                                                   all,
		"?event_types=started":                               {webStarts, newStarts, dbStarts},
		"?event_types=exited":                                {webExits},
		"?event_types=changed":                               {newChanges},
		"?event_types=started,exited,changed":                all,
		"?event_types=exited,%20changed":                     {webExits, newChanges},
		"?event_types=":                                      all,
		"?flow_names=web-ci":                                 {webStarts, webExits},
		"?flow_names=promotion":                              {dbStarts},
		"?flow_names=no%20provenance":                        {newStarts},
		"?flow_names=no+provenance,db-ci":                    {newStarts, dbStarts},
		"?flow_names=nope":                                   nil,
		"?flow_names=nope,web-ci":                            {webStarts, webExits},
		"?flow_names=idle-ci":                                nil,
		"?flow_names=":                                       all,
		"?repo_names=acme/web":                               {webStarts, webExits},
		"?repo_names=acme/infra,acme/new":                    {dbStarts, newChanges},
		"?repo_names=acme/idle":                              nil,
		"?repo_names=":                                       all,
		"?event_types=exited&repo_names=acme/web":            {webExits},
		"?event_types=started&flow_names=web-ci,nope":        {webStarts},
		"?from_timestamp=1790859600":                         {newStarts, webExits, dbStarts, newChanges},
		"?to_timestamp=1790859600":                           {webStarts},
		"?from_timestamp=1790857800&to_timestamp=1790865000": {newStarts, webExits},
		"?from_timestamp=1790865000&to_timestamp=1790857800": nil,
		"?from_timestamp=9e9":                                nil,
		"?to_timestamp=9e9&event_types=changed":              {newChanges},
	} {
		t.Run(s.CaseName(query), func(t *testing.T) { wantAuditLog(s.In(t), "prod", query, want...) })
	}
	path := s.EnvironmentsPath() + "/prod/auditlog"
	s.WantError(http.StatusNotFound, "Repo 'nope' not found", http.MethodGet, path+"?repo_names=acme/web,nope", "")
	s.WantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.Org+"'", http.MethodGet, s.EnvironmentsPath()+"/none/auditlog", "")
	apitest.Each(s, map[string]string{
		"?event_types=started,scaled": "Input should be a comma list of 'started', 'exited' or 'changed' [input: scaled]",
		"?from_timestamp=yesterday":   "Input should be a valid number, unable to parse string as a number [input: yesterday]",
		"?to_timestamp=":              "Input should be a valid number, unable to parse string as a number [input: ]",
	}, func(s *apitest.Service, query, want string) {
		field, _, _ := strings.Cut(strings.TrimPrefix(query, "?"), "=")
		apitest.WantFault(s.T, s.Want(http.StatusBadRequest, http.MethodGet, path+query, nil), "query."+field, want)
	})
}

func TestAuditLogIsFilteredByNamesOfArchivedFlows(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	reportFromRepo(s, "web-ci", "web", apitest.FirstCommit, "acme/web")
	s.ReportServer("prod", "web", "stranger")
	s.Want(http.StatusOK, http.MethodPut, "/flows/"+s.Org+"/web-ci/archive", []byte("null"))
	reportFromRepo(s, "web-ci", "again", apitest.FirstCommit, "acme/web")
	s.ReportServer("prod", "web", "stranger", "again")
	const first, second = "web started-unknown #1", "again started-unknown #2"
	rows := auditLog(s, "prod", "?repo_names=acme/web&event_types=started")
	if len(rows) != 2 || !strings.HasPrefix(rows[0]["flows"], "web-ci-archived-at-") {
		t.Fatalf("the log is %v", rows)
	}
	wantAuditLog(s, "prod", "?flow_names="+rows[0]["flows"], first)
	wantAuditLog(s, "prod", "?flow_names=web-ci", second)
	wantAuditLog(s, "prod", "?flow_names=web-ci,"+rows[0]["flows"], first, second)
}

func TestAuditLogOfAnEnvironmentWithoutEventsHasOnlyTheHeader(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("new", evidence.Server)
	s.CreateLogical("nothing")
	s.CreateLogical("all", "new")
	apitest.EachOf(s, []string{"new", "nothing", "all"}, func(s *apitest.Service, name string) {
		wantAuditLog(s, name, "")
		wantAuditLog(s, name, "?from_timestamp=1&event_types=exited")
	})
}

func TestAuditLogEscapesFormulas(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Docker)
	for i, name := range []string{"=cmd()", "@SUM(A1)", "+1", "-1+1", "plain, \"quoted\"\nand broken"} {
		body := fmt.Appendf(nil, `{"artifacts":[{"digests":{%q:"%064x"},"creationTimestamp":1789000000}]}`, name, i+1)
		s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/prod/report/docker", body)
	}
	wantAuditLog(s, "prod", "?event_types=started", "'=cmd() started-unknown #1", "'@SUM(A1) started-unknown #2", "'+1 started-unknown #3",
		"'-1+1 started-unknown #4", "plain, \"quoted\"\nand broken started-unknown #5")
}

// TestLongAuditLogIsComplete reads more events than the store returns in a page.
func TestLongAuditLogIsComplete(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	storeEvents(s, "host", 3_210)
	rows := auditLog(s, "host", "")
	for i, row := range rows {
		if row["artifact_name"] != fmt.Sprint("n", i+1) {
			t.Fatalf("row %d is %v", i, row)
		}
	}
	apitest.Equal(t, len(rows), 3_210, "rows")
	wantAuditLog(s, "host", "?to_timestamp=1000000321&from_timestamp=1000000321&repo_names=acme/known",
		"n3201 changed #321", "n3202 changed #321", "n3203 changed #321", "n3204 changed #321", "n3205 changed #321",
		"n3206 changed #321", "n3207 changed #321", "n3208 changed #321", "n3209 changed #321", "n3210 changed #321")
}
