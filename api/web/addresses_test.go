package web_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
	"attestry/evidence"
)

func TestStartPageLeadsToTheOrganizationsOfTheUser(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	if got := webclient.NewVisitor(s).Open("/"); got.Status != http.StatusSeeOther || got.Header.Get("Location") != "/signin?next=%2F" {
		t.Errorf("without a session it leads to %d %s", got.Status, got.Header.Get("Location"))
	}
	v := webclient.SignedIn(s, apitest.ReaderKey)
	if got := v.Open("/"); got.Status != http.StatusSeeOther || got.Header.Get("Location") != "/-/organizations" {
		t.Errorf("it leads to %d %s", got.Status, got.Header.Get("Location"))
	}
	found := regexp.MustCompile(`<li><a href="(/[^"]+)"`).FindAllStringSubmatch(string(v.Open("/-/organizations").Body), -1)
	if len(found) != 2 || found[0][1] != "/"+s.Org || found[1][1] != "/reader" {
		t.Errorf("the organizations of the reader are %v", found)
	}
	webclient.SignedIn(s, apitest.StrangerKey).WantPage(http.StatusOK, "/-/organizations", `href="/stranger"`)
	s.Want(http.StatusOK, http.MethodPut, "/user/"+s.Org, nil)
	apitest.Equal(t, webclient.SignedIn(s, apitest.AdminKey).Open("/").Header.Get("Location"),
		"/"+s.Org, "with a default organization it leads to")
}

func TestUnknownAddressesAreAnsweredInTheFormatOfTheRequest(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	v := webclient.SignedIn(s, apitest.ReaderKey)
	for _, path := range []string{"/healthz", "/metrics", "/environments/" + s.Org, "/" + s.Org + "/no/such/page", "/%2e%2e"} {
		v.WantPage(http.StatusNotFound, path, "no page at this address")
		webclient.NewVisitor(s).WantPage(http.StatusNotFound, path, "no page at this address")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		s.Must(err)
		request.Header.Set("Authorization", "Bearer "+apitest.AdminKey)
		response, err := http.DefaultClient.Do(request)
		s.Must(err)
		s.Must(response.Body.Close())
		if response.StatusCode != http.StatusNotFound || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("a client of the API gets %d %s from %s", response.StatusCode, response.Header.Get("Content-Type"), path)
		}
	}
	for _, path := range []string{"/api", "/api/", "/api/v1/flows/" + s.Org, "/api/v2", "/api/v2/nothing"} {
		if got := v.Open(path); got.Status != http.StatusNotFound || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("a browser gets %d %s from %s", got.Status, got.Header.Get("Content-Type"), path)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if got := s.Do(method, "/api/v2/nothing", apitest.AdminKey, nil); got.Status != http.StatusNotFound || len(got.Header.Values("Allow")) > 0 {
			t.Errorf("%s of an unknown operation answers %d, Allow %v", method, got.Status, got.Header.Values("Allow"))
		}
	}
}

func TestFormerNamesRedirectIfOtherPartsOfTheAddressAreEqual(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	v := webclient.SignedIn(s, apitest.ReaderKey)
	for former, now := range map[string]string{s.Org: "staging", "env": "testing"} {
		s.CreateEnvironment(former, evidence.K8S)
		s.RenameEnvironment(former, now)
		for _, page := range []string{"", "/diff?from=1&to=2", "/events", "/timeline", "/snapshots/1"} {
			want := "/" + s.Org + "/environments/" + now + page
			if got := v.Open("/" + s.Org + "/environments/" + former + page); got.Status != http.StatusFound || got.Header.Get("Location") != want {
				t.Errorf("%s of %s leads to %d %s, want %s", page, former, got.Status, got.Header.Get("Location"), want)
			}
		}
	}
	s.CreateFlow("flows")
	s.Want(http.StatusOK, http.MethodPut, s.FlowsPath()+"/flows/rename", []byte(`{"new_name":"build"}`))
	want := "/" + s.Org + "/flows/build/trails/flows/package"
	if got := v.Open("/" + s.Org + "/flows/flows/trails/flows/package"); got.Status != http.StatusFound || got.Header.Get("Location") != want {
		t.Errorf("a package leads to %d %s, want %s", got.Status, got.Header.Get("Location"), want)
	}
}

func TestPagesIgnoreSessionsOfRequestsWithAnAuthorizationHeader(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	v := webclient.SignedIn(s, apitest.ReaderKey)
	for _, sent := range []string{"Bearer key-that-nobody-has", "Bearer " + apitest.AdminKey, "Basic cHJveHk6cHJveHk="} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/"+s.Org, nil)
		s.Must(err)
		request.Header.Set("Authorization", sent)
		if got := v.Send(request); got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Header.Get("Location"), "/signin") {
			t.Errorf("with %s the page answers %d", sent, got.Status)
		}
	}
}

// TestPagesLinkToEnvironmentsByTheNamesThatTheyHaveNow renames and archives environments in which an artifact ran.
// Others take their former names: no link may lead there.
func TestPagesLinkToEnvironmentsByTheNamesThatTheyHaveNow(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateFlow("build")
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("retired", evidence.Server)
	s.CreateLogical("all", "prod", "retired")
	s.ReportArtifact("build", "t", "web", evidence.HashAPIKey("web"), strings.Repeat("a", 40))
	from := s.Clock.Read()
	s.Clock.Advance(time.Minute)
	s.ReportServer("prod", "web")
	s.ReportServer("retired", "web")
	s.Clock.Advance(time.Minute)
	s.CreateAudit(`"all"`, from, s.Clock.Read())
	s.RenameEnvironment("prod", "live")
	s.CreateEnvironment("prod", evidence.Server)
	s.ArchiveEnvironment("retired")
	v := webclient.SignedIn(s, apitest.ReaderKey)
	assert := func(path, linked string) {
		t.Helper()
		shown := v.Open("/" + s.Org + "/" + path)
		found := map[string]bool{}
		for _, link := range regexp.MustCompile(`href="/`+s.Org+`/environments/([^"]+)"`).FindAllSubmatch(shown.Body, -1) {
			found[string(link[1])] = true
		}
		if got := strings.Join(slices.Sorted(maps.Keys(found)), " "); got != linked || !strings.Contains(string(shown.Body), "retired") {
			t.Errorf("%s: %d links to %s, want %s:\n%s", path, shown.Status, got, linked, shown.Body)
		}
	}
	for path, linked := range map[string]string{
		"flows/build/trails/t": "live/snapshots/1",
		"audits/q3":            "live live/snapshots/1",
		"audits/q3?show=requirements&framework=iso-27001": "live live/snapshots/1",
		"environments/all/events":                         "all all/snapshots/1 all/snapshots/2 live",
		"environments/all/timeline":                       "all live/timeline",
	} {
		assert(path, linked)
	}
	s.CreateEnvironment("retired", evidence.Server) // the logical environment includes it in place of the archived one
	assert("environments/all/events", "all all/snapshots/1 all/snapshots/2 live")
	assert("environments/all/timeline", "all live/timeline retired/timeline")
}
