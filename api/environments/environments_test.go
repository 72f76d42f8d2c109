package environments_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

func TestEveryTypeOfEnvironmentCanBeCreated(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, kind := range []evidence.EnvironmentType{"K8S", "ECS", "S3", "lambda", "server", "docker", "azure-apps", "cloud-run", "logical"} {
		t.Run(string(kind), func(t *testing.T) {
			s := s.In(t)
			name := "of-type-" + string(kind)
			s.CreateEnvironment(name, kind)
			got := s.GetEnvironment(name)
			if got.Name != name || got.Type != string(kind) || got.State != nil || got.LastReportedAt != nil || got.Tags == nil || got.Policies == nil {
				t.Errorf("got %+v", got)
			}
			apitest.Equal(t, (got.Included != nil), (kind == evidence.LogicalType), got.Included)
		})
	}
}

func TestRepeatedPutChangesOnlyWhatIsSent(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	path := "/environments/" + s.Org
	s.Want(http.StatusCreated, http.MethodPut, path, []byte(`{"name":"prod","type":"K8S","description":"first","include_scaling":true}`))
	if got := s.Want(http.StatusOK, http.MethodPut, path, []byte(`{"name":"prod","type":"K8S","description":""}`)).Text(t); got != "OK" {
		t.Errorf("answered %q", got)
	}
	if got := s.GetEnvironment("prod"); got.Description != "first" || !got.IncludeScaling {
		t.Errorf("an empty description changed it to %+v", got)
	}
	s.Want(http.StatusOK, http.MethodPut, path, []byte(`{"name":"prod","type":"K8S","description":"second","include_scaling":"false"}`))
	if got := s.GetEnvironment("prod"); got.Description != "second" || got.IncludeScaling {
		t.Errorf("got %+v", got)
	}
	s.Want(http.StatusBadRequest, http.MethodPut, path, []byte(`{"name":"prod","type":"ECS","description":"x"}`))
}

func TestReportSetsTheTimesOfItsEnvironment(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	s.ReportServer("host", "a")
	got := s.GetEnvironment("host")
	if got.LastReportedAt == nil || got.LastChangedAt == nil || got.LastModifiedAt != *got.LastReportedAt {
		t.Errorf("got %+v", got)
	}
}

func TestLogicalEnvironmentHasPhysicalMembersOnly(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("one", evidence.Server)
	s.CreateEnvironment("two", evidence.K8S)
	path := "/environments/" + s.Org
	s.Want(http.StatusCreated, http.MethodPut, path,
		[]byte(`{"name":"all","type":"logical","description":"","included_environments":["two","one"]}`))
	apitest.EqualList(t, s.GetEnvironment("all").Included, []string{"two", "one"})
	got := s.Want(http.StatusBadRequest, http.MethodPut, path,
		[]byte(`{"name":"nested","type":"logical","description":"","included_environments":["all"]}`))
	apitest.WantMessage(t, got, "Can only add physical environments to logical environments")
	got = s.Want(http.StatusNotFound, http.MethodPut, path,
		[]byte(`{"name":"nested","type":"logical","description":"","included_environments":[""]}`))
	apitest.WantMessage(t, got, "Environment named '' does not exist for organization '"+s.Org+"'")
	s.Want(http.StatusNotFound, http.MethodGet, s.EnvironmentsPath()+"/nested", nil)
}

func TestMembersOfAPhysicalEnvironmentAreCheckedAndIgnored(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("one", evidence.Server)
	s.CreateEnvironment("gone", evidence.Server)
	s.CreateLogical("all", "one")
	s.ArchiveEnvironment("gone")
	put := func(s *apitest.Service, status int, members string) apitest.Answer {
		s.T.Helper()
		return s.Want(status, http.MethodPut, s.EnvironmentsPath(),
			fmt.Appendf(nil, `{"name":"prod","type":"server","description":"d","included_environments":%s}`, members))
	}
	apitest.Each(s, map[string]struct{ members, message string }{
		"unknown member":            {`["none"]`, "Environment named 'none' does not exist for organization '" + s.Org + "'"},
		"unknown member and others": {`["one","none"]`, "Environment named 'none' does not exist for organization '" + s.Org + "'"},
		"empty member":              {`[""]`, "Environment named '' does not exist for organization '" + s.Org + "'"},
		"archived member":           {`["gone"]`, "Environment named 'gone' has been archived for organization '" + s.Org + "'"},
	}, func(s *apitest.Service, _ string, c struct{ members, message string }) {
		apitest.WantMessage(s.T, put(s, http.StatusNotFound, c.members), c.message)
	})
	s.Want(http.StatusNotFound, http.MethodGet, s.EnvironmentsPath()+"/prod", nil)
	put(s, http.StatusCreated, `["one","all","one"]`)
	before := s.GetEnvironment("prod")
	for name, members := range map[string]string{"other members": `["one"]`, "no members": `[]`, "null": `null`, "itself": `["prod"]`} {
		t.Run(name, func(t *testing.T) {
			put(s.In(t), http.StatusOK, members)
		})
	}
	after := s.GetEnvironment("prod")
	if before.Included != nil || after.Included != nil || after.LastModifiedAt != before.LastModifiedAt {
		t.Errorf("made as %+v, then %+v", before, after)
	}
	apitest.WantMessage(t, put(s, http.StatusNotFound, `["none"]`), "Environment named 'none' does not exist for organization '"+s.Org+"'")
	apitest.Equal(t, len(s.ListEvents("prod", "")), 0, "its log")
}

func TestEnvironmentsAreListedBareOrInPages(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	for _, name := range []string{"delta", "alpha", "charlie", "bravo"} {
		s.CreateEnvironment(name, evidence.Server)
	}
	var bare []apitest.EnvironmentBody
	s.Want(http.StatusOK, http.MethodGet, s.EnvironmentsPath()+"?name=A&sort_direction=desc", nil).Decode(t, &bare)
	apitest.Equal(t, environmentNames(bare), "delta charlie bravo alpha", "listed")
	var page struct {
		Environments []apitest.EnvironmentBody
		Page         int
		PerPage      int `json:"per_page"`
		TotalPages   int `json:"total_pages"`
		TotalCount   int `json:"total_count"`
		Links        map[string]struct{ Href string }
	}
	got := s.Want(http.StatusOK, http.MethodGet, s.EnvironmentsPath()+"?page=2&per_page=3", nil)
	got.Decode(t, &page)
	if environmentNames(page.Environments) != "delta" || page.Page != 2 || page.PerPage != 3 || page.TotalPages != 2 || page.TotalCount != 4 {
		t.Errorf("page is %+v", page)
	}
	evidencetest.Contains(t, string(got.Body), `"prev":{"href":"`+s.URL+`/api/v2/environments/`+s.Org+`?`)
	for query, want := range map[string]int{"?tag=": 0, "?tag=team": 0, "?type=server": 4, "?type=K8S": 0, "?space_id=": 4, "?name=": 4, "?name=zulu": 0} {
		t.Run(s.CaseName(query), func(t *testing.T) {
			s := s.In(t)
			var found []apitest.EnvironmentBody
			s.Want(http.StatusOK, http.MethodGet, s.EnvironmentsPath()+query, nil).Decode(t, &found)
			apitest.Equal(t, len(found), want, "environments")
		})
	}
}

func TestEnvironmentsAreFilteredAndSorted(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, name := range []string{"Delta", "alpha", "charlie"} {
		s.CreateEnvironment(name, evidence.Server)
	}
	s.CreateEnvironment("bravo", evidence.K8S)
	s.CreateLogical("united", "Delta", "charlie")
	s.Want(http.StatusOK, http.MethodPatch, "/tags/"+s.Org+"/env/alpha", []byte(`{"set_tags":{"team":"x"}}`))
	s.Want(http.StatusOK, http.MethodPatch, "/tags/"+s.Org+"/env/bravo", []byte(`{"set_tags":{"team":"y","tier":""}}`))
	for _, name := range []string{"charlie", "Delta", "alpha"} {
		s.ReportServer(name, name)
	}
	s.ChangeEnvironment(http.MethodPatch, "/bravo", `{"description":"touched"}`)
	apitest.Each(s, map[string]string{
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
	}, func(s *apitest.Service, query, want string) {
		apitest.Equal(s.T, listEnvironments(s, query), want, "listed")
	})
}

func TestListedEnvironmentsHaveTheFieldsThatClientsRead(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportServer("prod", "a")
	s.CreateLogical("all", "prod")
	apitest.ClientReadsEach(t, "environments_item", s.Read(s.EnvironmentsPath()))
	page := s.Read(s.EnvironmentsPath() + "?page=1")
	apitest.ClientReads(t, "environments", page)
	apitest.ClientReadsEach(t, "environments_item", apitest.Lookup(t, page, "environments"))
	for i, name := range []string{"all", "prod"} {
		t.Run(name, func(t *testing.T) {
			s := s.In(t)
			one := s.Read(s.EnvironmentsPath() + "/" + name)
			apitest.ClientReads(t, "environment", one)
			if listed := apitest.Lookup(t, page, "environments", i); !reflect.DeepEqual(listed, one) {
				t.Errorf("%s is listed as %s, read as %s", name, apitest.AsJSON(listed), apitest.AsJSON(one))
			}
		})
	}
}

func environmentNames(environments []apitest.EnvironmentBody) string {
	var all []string
	for _, e := range environments {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

func TestConcurrentCreatesMakeOneEnvironment(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	var group sync.WaitGroup
	statuses := make([]int, 40)
	for i := range statuses {
		group.Go(func() {
			statuses[i] = s.Do(http.MethodPut, "/api/v2/environments/"+s.Org, apitest.AdminKey,
				fmt.Appendf(nil, `{"name":"race","type":"K8S","description":"from %d"}`, i)).Status
		})
	}
	group.Wait()
	slices.Sort(statuses)
	if statuses[len(statuses)-1] != http.StatusCreated || statuses[len(statuses)-2] != http.StatusOK {
		t.Errorf("statuses %v", statuses)
	}
	var all []apitest.EnvironmentBody
	s.Want(http.StatusOK, http.MethodGet, "/environments/"+s.Org, nil).Decode(t, &all)
	apitest.Equal(t, len(all), 1, "environments")
}
