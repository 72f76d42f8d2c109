package e2e_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"attestry/evidence"
)

type environmentBody struct {
	Name           string            `json:"name"`
	Type           string            `json:"type"`
	Description    string            `json:"description"`
	IncludeScaling bool              `json:"include_scaling"`
	State          *bool             `json:"state"`
	LastReportedAt *float64          `json:"last_reported_at"`
	LastModifiedAt float64           `json:"last_modified_at"`
	LastChangedAt  *float64          `json:"last_changed_at"`
	Tags           map[string]string `json:"tags"`
	Policies       []string          `json:"policies"`
	Included       []string          `json:"included_environments"`
}

func (s *service) getEnvironment(name string) environmentBody {
	s.t.Helper()
	var body environmentBody
	s.want(http.StatusOK, http.MethodGet, s.environmentsPath()+"/"+name, nil).decode(s.t, &body)
	return body
}

func TestEveryTypeOfEnvironmentCanBeCreated(t *testing.T) {
	t.Parallel()
	s := share(t)
	for _, kind := range []evidence.EnvironmentType{"K8S", "ECS", "S3", "lambda", "server", "docker", "azure-apps", "cloud-run", "logical"} {
		t.Run(string(kind), func(t *testing.T) {
			s := s.in(t)
			name := "of-type-" + string(kind)
			s.createEnvironment(name, kind)
			got := s.getEnvironment(name)
			if got.Name != name || got.Type != string(kind) || got.State != nil || got.LastReportedAt != nil || got.Tags == nil || got.Policies == nil {
				t.Errorf("got %+v", got)
			}
			if (got.Included != nil) != (kind == evidence.LogicalType) {
				t.Errorf("included_environments is %v", got.Included)
			}
		})
	}
}

func TestRepeatedPutChangesOnlyWhatIsSent(t *testing.T) {
	t.Parallel()
	s := share(t)
	path := "/environments/" + s.org
	s.want(http.StatusCreated, http.MethodPut, path, []byte(`{"name":"prod","type":"K8S","description":"first","include_scaling":true}`))
	if got := s.want(http.StatusOK, http.MethodPut, path, []byte(`{"name":"prod","type":"K8S","description":""}`)).text(t); got != "OK" {
		t.Errorf("answered %q", got)
	}
	if got := s.getEnvironment("prod"); got.Description != "first" || !got.IncludeScaling {
		t.Errorf("an empty description changed it to %+v", got)
	}
	s.want(http.StatusOK, http.MethodPut, path, []byte(`{"name":"prod","type":"K8S","description":"second","include_scaling":"false"}`))
	if got := s.getEnvironment("prod"); got.Description != "second" || got.IncludeScaling {
		t.Errorf("got %+v", got)
	}
	s.want(http.StatusBadRequest, http.MethodPut, path, []byte(`{"name":"prod","type":"ECS","description":"x"}`))
}

func TestReportSetsTheTimesOfItsEnvironment(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("host", evidence.Server)
	s.reportServer("host", "a")
	got := s.getEnvironment("host")
	if got.LastReportedAt == nil || got.LastChangedAt == nil || got.LastModifiedAt != *got.LastReportedAt {
		t.Errorf("got %+v", got)
	}
}

func TestLogicalEnvironmentHasPhysicalMembersOnly(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("one", evidence.Server)
	s.createEnvironment("two", evidence.K8S)
	path := "/environments/" + s.org
	s.want(http.StatusCreated, http.MethodPut, path,
		[]byte(`{"name":"all","type":"logical","description":"","included_environments":["two","one"]}`))
	if got := s.getEnvironment("all").Included; !slices.Equal(got, []string{"two", "one"}) {
		t.Errorf("included %v", got)
	}
	got := s.want(http.StatusBadRequest, http.MethodPut, path,
		[]byte(`{"name":"nested","type":"logical","description":"","included_environments":["all"]}`))
	if message, _ := got.problem(t); message != "Can only add physical environments to logical environments" {
		t.Errorf("message %q", message)
	}
	got = s.want(http.StatusNotFound, http.MethodPut, path,
		[]byte(`{"name":"nested","type":"logical","description":"","included_environments":[""]}`))
	if message, _ := got.problem(t); message != "Environment named '' does not exist for organization '"+s.org+"'" {
		t.Errorf("message %q", message)
	}
	s.want(http.StatusNotFound, http.MethodGet, s.environmentsPath()+"/nested", nil)
}

func TestMembersOfAPhysicalEnvironmentAreCheckedAndIgnored(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("one", evidence.Server)
	s.createEnvironment("gone", evidence.Server)
	s.createLogical("all", "one")
	s.archiveEnvironment("gone")
	put := func(s *service, status int, members string) answer {
		s.t.Helper()
		return s.want(status, http.MethodPut, s.environmentsPath(),
			fmt.Appendf(nil, `{"name":"prod","type":"server","description":"d","included_environments":%s}`, members))
	}
	for name, c := range map[string]struct{ members, message string }{
		"unknown member":            {`["none"]`, "Environment named 'none' does not exist for organization '" + s.org + "'"},
		"unknown member and others": {`["one","none"]`, "Environment named 'none' does not exist for organization '" + s.org + "'"},
		"empty member":              {`[""]`, "Environment named '' does not exist for organization '" + s.org + "'"},
		"archived member":           {`["gone"]`, "Environment named 'gone' has been archived for organization '" + s.org + "'"},
	} {
		t.Run(name, func(t *testing.T) {
			wantMessage(t, put(s.in(t), http.StatusNotFound, c.members), c.message)
		})
	}
	s.want(http.StatusNotFound, http.MethodGet, s.environmentsPath()+"/prod", nil)
	put(s, http.StatusCreated, `["one","all","one"]`)
	before := s.getEnvironment("prod")
	for name, members := range map[string]string{"other members": `["one"]`, "no members": `[]`, "null": `null`, "itself": `["prod"]`} {
		t.Run(name, func(t *testing.T) {
			put(s.in(t), http.StatusOK, members)
		})
	}
	after := s.getEnvironment("prod")
	if before.Included != nil || after.Included != nil || after.LastModifiedAt != before.LastModifiedAt {
		t.Errorf("made as %+v, then %+v", before, after)
	}
	wantMessage(t, put(s, http.StatusNotFound, `["none"]`), "Environment named 'none' does not exist for organization '"+s.org+"'")
	if events := s.listEvents("prod", ""); len(events) != 0 {
		t.Errorf("its log has %q", events)
	}
}

func TestEnvironmentsAreListedBareOrInPages(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	for _, name := range []string{"delta", "alpha", "charlie", "bravo"} {
		s.createEnvironment(name, evidence.Server)
	}
	var bare []environmentBody
	s.want(http.StatusOK, http.MethodGet, s.environmentsPath()+"?name=A&sort_direction=desc", nil).decode(t, &bare)
	if got := environmentNames(bare); got != "delta charlie bravo alpha" {
		t.Errorf("listed %s", got)
	}
	var page struct {
		Environments []environmentBody
		Page         int
		PerPage      int `json:"per_page"`
		TotalPages   int `json:"total_pages"`
		TotalCount   int `json:"total_count"`
		Links        map[string]struct{ Href string }
	}
	got := s.want(http.StatusOK, http.MethodGet, s.environmentsPath()+"?page=2&per_page=3", nil)
	got.decode(t, &page)
	if environmentNames(page.Environments) != "delta" || page.Page != 2 || page.PerPage != 3 || page.TotalPages != 2 || page.TotalCount != 4 {
		t.Errorf("page is %+v", page)
	}
	if !strings.Contains(string(got.body), `"prev":{"href":"`+s.URL+`/api/v2/environments/`+s.org+`?`) {
		t.Errorf("no link to the page before: %s", got.body)
	}
	for query, want := range map[string]int{"?tag=": 0, "?tag=team": 0, "?type=server": 4, "?type=K8S": 0, "?space_id=": 4, "?name=": 4, "?name=zulu": 0} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			var found []environmentBody
			s.want(http.StatusOK, http.MethodGet, s.environmentsPath()+query, nil).decode(t, &found)
			if len(found) != want {
				t.Errorf("%d environments, want %d", len(found), want)
			}
		})
	}
}

func TestEnvironmentsAreFilteredAndSorted(t *testing.T) {
	t.Parallel()
	s := share(t)
	for _, name := range []string{"Delta", "alpha", "charlie"} {
		s.createEnvironment(name, evidence.Server)
	}
	s.createEnvironment("bravo", evidence.K8S)
	s.createLogical("united", "Delta", "charlie")
	s.want(http.StatusOK, http.MethodPatch, "/tags/"+s.org+"/env/alpha", []byte(`{"set_tags":{"team":"x"}}`))
	s.want(http.StatusOK, http.MethodPatch, "/tags/"+s.org+"/env/bravo", []byte(`{"set_tags":{"team":"y","tier":""}}`))
	for _, name := range []string{"charlie", "Delta", "alpha"} {
		s.reportServer(name, name)
	}
	s.changeEnvironment(http.MethodPatch, "/bravo", `{"description":"touched"}`)
	for query, want := range map[string]string{
		"":                       "Delta alpha bravo charlie united",
		"?sort=name":             "Delta alpha bravo charlie united",
		"?sort_direction=desc":   "united charlie bravo alpha Delta",
		"?sort=last_modified_at": "charlie Delta united alpha bravo",
		"?sort=last_changed_at":  "bravo charlie Delta united alpha",
		"?sort=last_changed_at&sort_direction=desc": "alpha united Delta charlie bravo",
		"?name=D":                "Delta united",
		"?name=LPH":              "alpha",
		"?type=K8S&type=logical": "bravo united",
		"?tag=team":              "alpha bravo",
		"?tag=team:x":            "alpha",
		"?tag=team:x&tag=tier":   "alpha bravo",
		"?tag=tier:":             "bravo",
		"?tag=team:":             "",
		"?tag=&tag=team:y":       "bravo",
		"?space_id=93d8505f":     "",
		"?type=server&name=a&tag=team&sort=last_changed_at": "alpha",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			if got := s.listEnvironments(query); got != want {
				t.Errorf("listed %s, want %s", got, want)
			}
		})
	}
}

func TestListedEnvironmentsHaveTheFieldsThatClientsRead(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportServer("prod", "a")
	s.createLogical("all", "prod")
	clientReadsEach(t, "environments_item", s.read(s.environmentsPath()))
	page := s.read(s.environmentsPath() + "?page=1")
	clientReads(t, "environments", page)
	clientReadsEach(t, "environments_item", lookup(t, page, "environments"))
	for i, name := range []string{"all", "prod"} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			one := s.read(s.environmentsPath() + "/" + name)
			clientReads(t, "environment", one)
			if listed := lookup(t, page, "environments", i); !reflect.DeepEqual(listed, one) {
				t.Errorf("%s is listed as %s, read as %s", name, asJSON(listed), asJSON(one))
			}
		})
	}
}

func environmentNames(environments []environmentBody) string {
	var all []string
	for _, e := range environments {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

func TestConcurrentCreatesMakeOneEnvironment(t *testing.T) {
	t.Parallel()
	s := share(t)
	var group sync.WaitGroup
	statuses := make([]int, 40)
	for i := range statuses {
		group.Go(func() {
			statuses[i] = s.do(http.MethodPut, "/api/v2/environments/"+s.org, adminKey,
				fmt.Appendf(nil, `{"name":"race","type":"K8S","description":"from %d"}`, i)).status
		})
	}
	group.Wait()
	slices.Sort(statuses)
	if statuses[len(statuses)-1] != http.StatusCreated || statuses[len(statuses)-2] != http.StatusOK {
		t.Errorf("statuses %v", statuses)
	}
	var all []environmentBody
	s.want(http.StatusOK, http.MethodGet, "/environments/"+s.org, nil).decode(t, &all)
	if len(all) != 1 {
		t.Errorf("%d environments", len(all))
	}
}

func TestEnvironmentsOfOneOrganizationAreUnknownInAnother(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportServer("prod", "a")
	for _, path := range []string{"/environments/" + s.public + "/prod", "/snapshots/" + s.public + "/prod", "/snapshots/" + s.public + "/prod/1"} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s.in(t).wantError(http.StatusNotFound, "Environment named 'prod' does not exist for organization '"+s.public+"'", http.MethodGet, path, "")
		})
	}
	s.want(http.StatusNotFound, http.MethodPut, "/environments/"+s.public+"/prod/report/server", serverReport("b"))
	s.createEnvironmentIn(s.public, "prod")
	var list []any
	s.want(http.StatusOK, http.MethodGet, "/snapshots/"+s.public+"/prod", nil).decode(t, &list)
	if len(list) != 0 {
		t.Errorf("the other organization's environment of the same name has %d snapshots", len(list))
	}
}

func (s *service) createEnvironmentIn(organization, name string) {
	s.t.Helper()
	s.want(http.StatusCreated, http.MethodPut, "/environments/"+organization, []byte(`{"name":"`+name+`","type":"server","description":""}`))
}

func TestOrganizationAndDefaultOrganizationAreRead(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	var found struct {
		Name, Kind string
		CreatedAt  float64 `json:"created_at"`
	}
	s.want(http.StatusOK, http.MethodGet, "/organizations/"+s.org, nil).decode(t, &found)
	if found.Name != s.org || found.Kind != "shared" || found.CreatedAt == 0 {
		t.Errorf("got %+v", found)
	}
	s.want(http.StatusOK, http.MethodPut, "/user/"+s.org, []byte("null"))
	var set struct {
		DefaultOrgName string `json:"default_org_name"`
	}
	s.want(http.StatusOK, http.MethodGet, "/user/default-org", nil).decode(t, &set)
	if set.DefaultOrgName != s.org {
		t.Errorf("default organization is %q", set.DefaultOrgName)
	}
	got := s.do(http.MethodPut, "/api/v2/user/nowhere", adminKey, nil)
	if message, _ := got.problem(t); got.status != http.StatusForbidden || message != "Access denied to /api/v2/user/nowhere" {
		t.Errorf("%d %q", got.status, message)
	}
}
