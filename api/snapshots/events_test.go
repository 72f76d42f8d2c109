package snapshots_test

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// reportFromRepo reports an artifact to a flow as built from a commit of a repository. Its fingerprint is the one that
// apitest.ServerReport gives to the file of this name.
func reportFromRepo(s *apitest.Service, flow, name, commit, repository string) {
	s.T.Helper()
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/"+flow, fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":%q,"git_commit":%q,"build_url":"https://ci.example.com/1","commit_url":%q,
			"trail_name":%q,"template_reference_name":"app","repo_info":{"name":%q,"id":%q,"url":%q,"provider":"github"}}`,
		evidence.HashAPIKey(name), name, commit, "https://github.com/"+repository+"/commit/"+commit,
		commit, repository, repository, "https://github.com/"+repository))
}

// TestEventLogShowsARollout compares with docs/semantics.md 13.1.
func TestEventLogShowsARollout(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	reportFromRepo(s, "app-ci", "app-1", apitest.FirstCommit, "acme/app")
	reportFromRepo(s, "app-ci", "app-2", apitest.SecondCommit, "acme/app")
	reportFromRepo(s, "release", "app-2", apitest.SecondCommit, "acme/app")
	s.ReportServer("prod", "app-1", "stranger")
	s.ReportServer("prod", "app-2", "app-2", "app-2", "stranger")
	s.WantEvents("prod", "", "app-1 exited #2", "app-2 started-unknown #2", "stranger started-unknown #1", "app-1 started-unknown #1")

	events := s.Read(s.EnvironmentsPath() + "/prod/events").([]any)
	exited, started, stranger := events[0].(map[string]any), events[1].(map[string]any), events[2].(map[string]any)
	apitest.AssertKeys(t, "event", started, "environment_name", "snapshot_index", "artifact_name", "sha256", "description", "reported_at",
		"pipeline", "deployments", "flows", "artifact_compliance", "snapshot_compliance", "type", "code_diff", "_links")
	apitest.AssertKeys(t, "flow", apitest.Lookup(t, started, "flows", 0).(map[string]any), "flow_name", "deployments")
	second := s.GetSnapshot("prod", "2")
	var order []string
	for _, artifact := range second.Artifacts {
		order = append(order, apitest.Annotation(artifact))
	}
	apitest.EqualList(t, order, []string{"started-unknown", "unchanged", "exited"}, "the artifacts of the snapshot")
	apitest.Equal(t, fmt.Sprint(second.ArtifactComplianceCount), "map[false:0 null:2 true:0]")
	for _, c := range []struct {
		event map[string]any
		name  string
		want  any
	}{
		{started, "environment_name", "prod"},
		{started, "sha256", evidence.HashAPIKey("app-2")},
		{started, "description", "3 instances started running (from 0 to 3)"},
		{exited, "description", "1 instance stopped running (from 1 to 0)"},
		{started, "reported_at", second.Timestamp},
		{started, "pipeline", "app-ci"},
		{exited, "pipeline", "app-ci"},
		{stranger, "pipeline", ""},
		{started, "artifact_compliance", nil},
		{started, "snapshot_compliance", false},
		{started, "code_diff", "https://github.com/acme/app/compare/" + apitest.FirstCommit + "..." + apitest.SecondCommit},
		{exited, "code_diff", nil},
		{stranger, "code_diff", nil},
	} {
		apitest.Equal(t, c.event[c.name], c.want, c.event["artifact_name"], c.name)
	}
	apitest.Equal(t, apitest.AsJSON(started["flows"]),
		`[{"deployments":null,"flow_name":"app-ci"},{"deployments":null,"flow_name":"release"}]`, "flows")
	if apitest.AsJSON(stranger["flows"]) != "[]" || apitest.AsJSON(stranger["deployments"]) != "[]" || apitest.Lookup(t, stranger, "_links", "artifact") != nil {
		t.Errorf("an artifact that no flow knows: %s", apitest.AsJSON(stranger))
	}
	assertEventLinks(s, started)
}

// assertEventLinks follows the links of the event of app-2 in snapshot 2.
func assertEventLinks(s *apitest.Service, event map[string]any) {
	s.T.Helper()
	follow := func(kind string) any {
		return s.Read(strings.TrimPrefix(apitest.Lookup(s.T, event, "_links", kind, "self").(string), s.URL+"/api/v2"))
	}
	if apitest.Lookup(s.T, follow("snapshot"), "index") != 2.0 {
		s.T.Errorf("the snapshot's link leads to another snapshot: %s", apitest.AsJSON(event["_links"]))
	}
	artifact := follow("artifact")
	page := fmt.Sprintf("%s/%s/flows/app-ci/artifacts/%s?artifact_id=%s", s.URL, s.Org, evidence.HashAPIKey("app-2"), apitest.Lookup(s.T, artifact, "id"))
	apitest.Equal[any](s.T, apitest.Lookup(s.T, event, "_links", "artifact", "html"), page, "the artifact's page")
	apitest.Equal[any](s.T, apitest.Lookup(s.T, event, "_links", "snapshot", "html"),
		s.URL+"/"+s.Org+"/environments/prod/snapshots/2", "the snapshot's page")
}

// firstOfOctober is the start of the clock in tests of the event log.
var firstOfOctober = time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)

// runFiveVersions reports v1 to v5 in the environment host, one after the other, and advances the clock after each.
func runFiveVersions(s *apitest.Service, gap time.Duration) {
	s.T.Helper()
	for version := 1; version <= 5; version++ {
		s.ReportServer("host", fmt.Sprint("v", version))
		s.Clock.Advance(gap)
	}
}

// versionEvents are the events of runFiveVersions from the last snapshot to the first.
func versionEvents(last, first int) []string {
	events := []string{}
	for n := last; n >= first; n-- {
		if n > 1 {
			events = append(events, fmt.Sprintf("v%d exited #%d", n-1, n))
		}
		events = append(events, fmt.Sprintf("v%d started-unknown #%d", n, n))
	}
	return events
}

func TestEventsAreFilteredBySnapshotAndTime(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{StoppedAt: firstOfOctober})
	s.CreateEnvironment("host", evidence.Server)
	runFiveVersions(s, time.Hour)
	none := []string{}
	apitest.Each(s, map[string][]string{
		"":                                       versionEvents(5, 1),
		"?interval=&page=1&reverse=false":        versionEvents(5, 1),
		"?interval=2..3":                         versionEvents(3, 2),
		"?interval=~1..NOW":                      versionEvents(5, 4),
		"?interval=3":                            versionEvents(3, 3),
		"?interval=@{2026-10-01T13:30:00}":       versionEvents(2, 2),
		"?interval=@{2026-10-01T11:30:00}":       none,
		"?interval=3&start_ts=1790861400":        versionEvents(3, 3),
		"?start=4&interval=3":                    versionEvents(5, 4),
		"?interval=150mins..90mins":              versionEvents(4, 4),
		"?interval=90mins..150mins":              none,
		"?start=4":                               versionEvents(5, 4),
		"?start=-1":                              versionEvents(5, 5),
		"?start=5&end=4":                         versionEvents(5, 4),
		"?start=90mins":                          versionEvents(5, 5),
		"?end=2days":                             none,
		"?start=@{2026-10-01T13:30:00}&end=4":    versionEvents(4, 3),
		"?start=2026-10-01T13:30:00Z":            versionEvents(5, 3),
		"?start=2&end=2026-10-01T14:30:00":       versionEvents(3, 2),
		"?start_ts=1790861400":                   versionEvents(5, 3),
		"?end_ts=1790861400":                     versionEvents(2, 1),
		"?from=1790861400&to=1790865000":         versionEvents(3, 3),
		"?start_ts=1790861400&start=5":           versionEvents(5, 3),
		"?start_ts=1790861400&start=nonsense":    versionEvents(5, 3),
		"?start_ts=1790861400&from=0":            versionEvents(5, 3),
		"?end_ts=1790861400&to=9790865000&end=4": versionEvents(2, 1),
		"?start_ts=1790865000&end_ts=1790861400": none,
		"?start_ts=0&end_ts=9e300":               versionEvents(5, 1),
		"?start=4&interval=1..2":                 versionEvents(5, 4),
		"?end=2&interval=4..5":                   versionEvents(2, 1),
		"?interval=2..4&start_ts=1790861400":     versionEvents(4, 3),
	}, func(s *apitest.Service, query string, want []string) {
		s.WantEvents("host", query, want...)
		slices.Reverse(want)
		s.WantEvents("host", query+map[bool]string{true: "?", false: "&"}[query == ""]+"reverse=true", want...)
	})
}

func TestEventPagesHaveTotalsAndLinks(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	runFiveVersions(s, 0)
	all := versionEvents(5, 1)
	for _, c := range []struct {
		query                      string
		want                       []string
		total, size, number, pages string
		links                      map[string]int
	}{
		{"", all, "9", "15", "1", "1", nil},
		{"?per_page=4", all[:4], "9", "4", "1", "3", map[string]int{"first": 1, "next": 2, "last": 3}},
		{"?per_page=4&page=2", all[4:8], "9", "4", "2", "3", map[string]int{"first": 1, "prev": 1, "next": 3, "last": 3}},
		{"?per_page=4&page=3", all[8:], "9", "4", "3", "3", map[string]int{"first": 1, "prev": 2, "last": 3}},
		{"?per_page=4&page=7", nil, "9", "4", "7", "3", map[string]int{"first": 1, "prev": 3, "last": 3}},
		{"?per_page=4&page=9223372036854775807", nil, "9", "4", "9223372036854775807", "3", map[string]int{"first": 1, "prev": 3, "last": 3}},
		{"?per_page=2&page=2&start=4", all[2:4], "4", "2", "2", "2", map[string]int{"first": 1, "prev": 1, "last": 2}},
		{"?end=1", all[8:], "1", "15", "1", "1", nil},
		{"?end=2days", nil, "0", "15", "1", "0", nil},
	} {
		t.Run(s.CaseName(c.query), func(t *testing.T) {
			s := s.In(t)
			s.WantEvents("host", c.query, c.want...)
			header := s.Want(http.StatusOK, http.MethodGet, s.EnvironmentsPath()+"/host/events"+c.query, nil).Header
			for name, want := range map[string]string{"X-Total-Count": c.total, "X-Per-Page": c.size, "X-Current-Page": c.number, "X-Total-Pages": c.pages} {
				apitest.Equal(t, header.Get(name), want, name)
			}
			var links []string
			for _, relation := range []string{"first", "prev", "next", "last"} {
				if number, ok := c.links[relation]; ok {
					links = append(links, fmt.Sprintf(`<%s?%s>; rel="%s"`, s.URL+"/api/v2"+s.EnvironmentsPath()+"/host/events", queryForPage(t, c.query, number), relation))
				}
			}
			if got, want := header.Get("Link"), strings.Join(links, ", "); got != want {
				t.Errorf("linked to %s, want %s", got, want)
			}
		})
	}
}

// queryForPage replaces the page number of a query.
func queryForPage(t *testing.T, query string, page int) string {
	t.Helper()
	values, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
	if err != nil {
		t.Fatal(err)
	}
	values.Set("page", fmt.Sprint(page))
	return values.Encode()
}

func TestBadFiltersOfEventsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	runFiveVersions(s, 0)
	path := s.EnvironmentsPath() + "/host/events"
	for query, message := range map[string]string{
		"?start=nonsense":       "Invalid interval value: nonsense",
		"?end=1fortnight":       "Invalid interval value: 1fortnight",
		"?start=":               "Invalid interval value: ",
		"?end=":                 "Invalid interval value: ",
		"?start=@{garbage}":     "Invalid interval value: @{garbage}",
		"?interval=five":        "Invalid interval value: five",
		"?interval=1hour":       "Invalid interval value: 1hour",
		"?interval=1..2..3":     "Invalid interval value: 1..2..3",
		"?interval=nonsense..2": "Invalid interval value: nonsense..2",
	} {
		t.Run(s.CaseName(query), func(t *testing.T) { s.In(t).WantError(http.StatusBadRequest, message, http.MethodGet, path+query, "") })
	}
	missing := "Org: '" + s.Org + "'. Snapshot 'host%s' resolves to 'host#%s'. len(snapshots) == 5. Indexes are 1-based"
	apitest.Each(s, map[string][2]string{
		"?start=6": {"#6", "6"}, "?end=9": {"#9", "9"}, "?start=0": {"#0", "0"}, "?interval=~7..": {"~7", "-2"}, "?interval=6": {"#6", "6"}, "?interval=~5": {"~5", "0"}, "?end=-6": {"#-6", "0"},
	}, func(s *apitest.Service, query string, resolved [2]string) {
		s.WantError(http.StatusNotFound, fmt.Sprintf(missing, resolved[0], resolved[1]), http.MethodGet, path+query, "")
	})
	s.WantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.Org+"'", http.MethodGet, s.EnvironmentsPath()+"/none/events", "")
}

func TestEventLogOfAnEnvironmentWithoutSnapshotsIsEmpty(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("new", evidence.Server)
	for _, query := range []string{"", "?interval=1..NOW", "?interval=", "?interval=NOW", "?interval=~0", "?start=1", "?start=1day&end=NOW", "?start_ts=5", "?page=3"} {
		t.Run(s.CaseName(query), func(t *testing.T) {
			s := s.In(t)
			got := s.Want(http.StatusOK, http.MethodGet, s.EnvironmentsPath()+"/new/events"+query, nil)
			if string(got.Body) != "[]" || got.Header.Get("X-Total-Count") != "0" || got.Header.Get("Link") != "" {
				t.Errorf("%s %v", got.Body, got.Header)
			}
		})
	}
	s.WantError(http.StatusNotFound, "Org: '"+s.Org+"'. Snapshot 'new#2' resolves to 'new#2'. len(snapshots) == 0. Indexes are 1-based",
		http.MethodGet, s.EnvironmentsPath()+"/new/events?start=2", "")
}

func TestEventLogShowsCurrentNames(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	runFiveVersions(s, 0)
	s.RenameEnvironment("host", "metal")
	apitest.EachOf(s, []string{"host", "metal"}, func(s *apitest.Service, name string) {
		event := apitest.Lookup(s.T, s.Read(s.EnvironmentsPath()+"/"+name+"/events?per_page=1"), 0)
		if apitest.Lookup(s.T, event, "environment_name") != "metal" ||
			apitest.Lookup(s.T, event, "_links", "snapshot", "html") != s.URL+"/"+s.Org+"/environments/metal/snapshots/5" {
			s.T.Errorf("%s", apitest.AsJSON(event))
		}
	})
	s.Want(http.StatusCreated, http.MethodPut, "/environments/"+s.Public, []byte(`{"name":"host","type":"server","description":""}`))
	apitest.Equal(t, apitest.AsJSON(s.Read("/environments/"+s.Public+"/host/events")),
		"[]", "another organization sees")
	s.ArchiveEnvironment("metal")
	s.WantError(http.StatusNotFound, "Environment named 'metal' has been archived for organization '"+s.Org+"'", http.MethodGet, s.EnvironmentsPath()+"/metal/events", "")
}

func TestEventsAreFilteredByRepositories(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("other", evidence.Server)
	reportFromRepo(s, "ci", "web", apitest.FirstCommit, "acme/web")
	reportFromRepo(s, "ci", "db", apitest.FirstCommit, "acme/db")
	reportFromRepo(s, "ci", "both", apitest.FirstCommit, "acme/web")
	reportFromRepo(s, "promotion", "both", apitest.FirstCommit, "acme/db")
	reportFromRepo(s, "ci", "idle", apitest.FirstCommit, "acme/idle")
	s.ReportRepo(s.Org, "acme/infra", "gitlab", "7", "")
	s.ReportServer("other", "web")
	for _, name := range []string{"web", "stranger", "db", "both"} {
		s.ReportServer("prod", name)
	}
	for query, want := range map[string][]string{
		"?repo_name=acme/web":                                           {"both started-unknown #4", "web exited #2", "web started-unknown #1"},
		"?repo_name=acme/web&reverse=true&per_page=1":                   {"web started-unknown #1"},
		"?repo_name=acme/db":                                            {"db exited #4", "both started-unknown #4", "db started-unknown #3"},
		"?repo_name=acme/db&repo_name=acme/web":                         {"db exited #4", "both started-unknown #4", "db started-unknown #3", "web exited #2", "web started-unknown #1"},
		"?repo_name=acme/db&repo_name=acme/web&per_page=2&page=2":       {"db started-unknown #3", "web exited #2"},
		"?repo_name=acme/db&repo_name=acme/db&start=2&end=3":            {"db started-unknown #3"},
		"?repo_name=acme/idle":                                          {},
		"?repo_name=acme/infra":                                         {},
		"?repo_name=acme/web&repo_name=acme/db&provider=github&end=1":   {"web started-unknown #1"},
		"?repo_name=acme/web&page=9":                                    {},
		"?repo_name=acme/web&end_ts=5":                                  {},
		"?repo_name=acme/web&start_ts=5&end=1":                          {"web started-unknown #1"},
		"?repo_name=acme/web&repo_name=acme/idle&reverse=true&start=-1": {"both started-unknown #4"},
	} {
		t.Run(s.CaseName(query), func(t *testing.T) { s.In(t).WantEvents("prod", query, want...) })
	}
	header := s.Want(http.StatusOK, http.MethodGet, s.EnvironmentsPath()+"/prod/events?repo_name=acme/db&repo_name=acme/web&per_page=2", nil).Header
	apitest.Equal(t, header.Get("X-Total-Count"), "5")
	apitest.Equal(t, header.Get("X-Total-Pages"), "3")
	s.ReportRepo(s.Public, "open/only", "github", "9", "")
	apitest.Each(s, map[string]string{
		"?repo_name=nope": "nope", "?repo_name=": "", "?repo_name=acme/web&repo_name=nope": "nope", "?repo_name=acme/web&repo_name=": "",
		"?repo_name=open/only": "open/only", "?repo_name=ACME/web": "ACME/web",
	}, func(s *apitest.Service, query, name string) {
		s.WantError(http.StatusNotFound, "Repo '"+name+"' not found", http.MethodGet,
			s.EnvironmentsPath()+"/prod/events"+query, "")
	})
}

func TestEventsOfALogicalEnvironmentAreThoseOfItsMembers(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true, StoppedAt: firstOfOctober})
	s.CreateEnvironment("host", evidence.Server)
	s.CreateEnvironment("edge", evidence.Server)
	s.CreateEnvironment("idle", evidence.Server)
	s.CreateLogical("all", "edge", "host", "idle")
	s.CreateLogical("nothing")
	runFiveVersions(s, time.Hour)
	reportFromRepo(s, "ci", "gate", apitest.FirstCommit, "acme/gate")
	s.ReportServer("edge", "gate")
	s.Clock.Advance(time.Hour)
	s.ReportServer("host", "v6")
	// The events have snapshot numbers of the logical environment: five of the host, one of the edge, one of the host.
	want := slices.Concat([]string{"v5 exited #7", "v6 started-unknown #7", "gate started-unknown #6"}, versionEvents(5, 1))
	s.WantEvents("all", "", want...)
	s.WantEvents("all", "?page=2&per_page=3", want[3:6]...)
	s.WantEvents("all", "?start=1&end=NOW&per_page=2", want[:2]...)
	s.WantEvents("all", "?reverse=true&per_page=1", want[len(want)-1])
	s.WantEvents("all", "?start=2h", want[:3]...)
	s.WantEvents("all", "?start=6&end=7", want[:3]...)
	s.WantEvents("all", "?start=-1&end=NOW", want[:2]...)
	s.WantEvents("all", "?start=1&end=2", versionEvents(2, 1)...)
	s.WantEvents("all", "?interval=NOW", want[:2]...)
	s.WantEvents("all", "?interval=6", want[2])
	s.WantEvents("all", "?interval=~4", versionEvents(3, 3)...)
	s.WantEvents("all", "?interval=@{2026-10-01T13:30:00}", versionEvents(2, 2)...)
	s.WantEvents("nothing", "?interval=-1")
	s.WantError(http.StatusNotFound, "Org: '"+s.Org+"'. Snapshot 'all#8' resolves to 'all#8'. len(snapshots) == 7. Indexes are 1-based",
		http.MethodGet, s.EnvironmentsPath()+"/all/events?start=8", "")
	s.WantEvents("all", "?end=@{2026-10-01T13:30:00}", versionEvents(2, 1)...)
	s.WantEvents("all", "?start_ts=1790861400&end_ts=1790865000", versionEvents(3, 3)...)
	s.WantEvents("all", "?repo_name=acme/gate", "gate started-unknown #6")
	s.WantEvents("nothing", "")
	s.WantEvents("nothing", "?start=1h&repo_name=acme/gate")
	header := s.Want(http.StatusOK, http.MethodGet, s.EnvironmentsPath()+"/all/events?per_page=5", nil).Header
	apitest.Equal(t, header.Get("X-Total-Count"), "12")
	apitest.Equal(t, header.Get("X-Total-Pages"), "3")
	members := map[string]string{}
	for _, event := range s.Read(s.EnvironmentsPath() + "/all/events?per_page=3").([]any) {
		members[apitest.Lookup(t, event, "artifact_name").(string)] = apitest.Lookup(t, event, "environment_name").(string) + apitest.Lookup(t, event, "_links", "snapshot", "html").(string)
	}
	for name, want := range map[string]string{
		"/opt/gate": "edge" + s.URL + "/" + s.Org + "/environments/all/snapshots/6", "/opt/v6": "host" + s.URL + "/" + s.Org + "/environments/all/snapshots/7",
	} {
		apitest.Equal(t, members[name], want, name)
	}
	slices.Reverse(want)
	wantAuditLog(s, "all", "", want...)
	apitest.Equal(t, auditLog(s, "all", "?repo_names=acme/gate")[0]["environment_name"], "edge")
	// The history of an artifact has the event once.
	apitest.Equal(t, apitest.History(t, s.Read("/artifacts/"+s.Org+"/ci/fingerprint/"+evidence.HashAPIKey("gate"))),
		"app reported Started running in edge#1 environment", "history")
}

// TestEventLogHidesUnfinishedSnapshots reads an environment whose worker stopped after it wrote a snapshot and before
// it wrote all events of it.
func TestEventLogHidesUnfinishedSnapshots(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	runFiveVersions(s, 0)
	id, now := s.EnvironmentID("host"), evidence.Seconds(s.Clock.Read())
	s.Must(s.Process.Store.Snapshots.Insert(t.Context(), snapshot.Snapshot{Org: s.OrgID(), Environment: id, Number: 6, Timestamp: now, EventsBefore: 9, Events: 3}))
	s.Must(s.Process.Store.Events.Record(t.Context(), []snapshot.Event{
		{Environment: id, Ordinal: 10, Snapshot: 6, Timestamp: now, Type: snapshot.Changed},
		{Environment: id, Ordinal: 12, Snapshot: 6, Timestamp: now, Type: snapshot.Changed},
	}))
	apitest.EachOf(s, []string{"", "?end_ts=9e9", "?start=2days", "?start=1"}, func(s *apitest.Service, query string) {
		s.WantEvents("host", query, versionEvents(5, 1)...)
		header := s.Want(http.StatusOK, http.MethodGet, s.EnvironmentsPath()+"/host/events"+query, nil).Header
		apitest.Equal(s.T, header.Get("X-Total-Count"), "9")
	})
	apitest.Equal(t, len(auditLog(s, "host", "?to_timestamp=9e9")), 9, "rows")
}

// storeEvents stores a log of count events, ten per snapshot, all of one repository.
func storeEvents(s *apitest.Service, environment string, count int64) {
	s.T.Helper()
	reportFromRepo(s, "ci", "known", apitest.FirstCommit, "acme/known")
	repo := apitest.Lookup(s.T, s.ListRepos(s.Org, "")[0], "id").(string)
	id := s.EnvironmentID(environment)
	var events []snapshot.Event
	for ordinal := int64(1); ordinal <= count; ordinal++ {
		number := (ordinal + 9) / 10
		events = append(events, snapshot.Event{
			Environment: id, Ordinal: ordinal, Snapshot: number, Timestamp: 1e9 + float64(number), Fingerprint: evidence.HashAPIKey("known"),
			Name: fmt.Sprint("n", ordinal), Type: snapshot.Changed, Description: "1 instance changed", Repos: []string{repo},
		})
	}
	s.Must(s.Process.Store.Events.Record(s.T.Context(), events))
	last := count / 10
	for _, number := range []int64{1, last / 2, last} {
		s.Must(s.Process.Store.Snapshots.Insert(s.T.Context(), snapshot.Snapshot{
			Org:         s.OrgID(),
			Environment: id, Number: number, Timestamp: 1e9 + float64(number), EventsBefore: 10 * (number - 1), Events: 10,
		}))
	}
	_, err := s.Process.Store.Heads.Update(s.T.Context(), id, func(head *snapshot.Head) error {
		head.Last, head.Timestamp, head.Events = last, 1e9+float64(last), count
		return nil
	})
	s.Must(err)
}

func TestFarPagesOfALongLogCostNoMoreThanTheFirst(t *testing.T) {
	const count = 16_000
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true})
	s.CreateEnvironment("host", evidence.Server)
	storeEvents(s, "host", count)
	commands := func(s *apitest.Service, query string, first int) int {
		s.T.Helper()
		// Background work may add commands: take the smallest of three counts.
		least := math.MaxInt
		for range 3 {
			counting.Reset()
			got := s.Read(s.EnvironmentsPath() + "/host/events?" + query).([]any)
			least = min(least, counting.Snapshot().Commands())
			apitest.Equal[any](s.T, apitest.Lookup(s.T, got, 0, "artifact_name"), fmt.Sprint("n", first), query, first)
		}
		return least
	}
	near := commands(s, "per_page=15", count)
	apitest.Each(s, map[string]int{
		"per_page=15&page=1000":              count - 999*15,
		"per_page=100&page=160":              100,
		"per_page=100&page=160&reverse=true": count - 99,
		"start=800&end=800":                  8_000,
		"start_ts=1000000100&reverse=true":   991,
	}, func(s *apitest.Service, query string, first int) {
		allowed := near
		if strings.HasPrefix(query, "start") {
			allowed += 2 // the bounds are looked up
		}
		if far := commands(s, query, first); far > allowed {
			s.T.Errorf("%s takes %d commands, the first page %d", query, far, near)
		}
	})
	if near > 12 {
		t.Errorf("a page takes %d commands", near)
	}
	// Events of a repository are skipped in steps of ten thousand.
	if far, near := commands(s, "repo_name=acme/known&page=1000", count-999*15), commands(s, "repo_name=acme/known", count); far > near+3 {
		t.Errorf("a far page of a repository takes %d commands, the first %d", far, near)
	}
}
