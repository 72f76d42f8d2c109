package e2e_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
)

func TestStartPageLeadsToTheOrganizationsOfTheUser(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	if got := s.visitor().open("/"); got.status != http.StatusSeeOther || got.header.Get("Location") != "/signin?next=%2F" {
		t.Errorf("without a session it leads to %d %s", got.status, got.header.Get("Location"))
	}
	v := s.signedIn(readerKey)
	if got := v.open("/"); got.status != http.StatusSeeOther || got.header.Get("Location") != "/-/organizations" {
		t.Errorf("it leads to %d %s", got.status, got.header.Get("Location"))
	}
	found := regexp.MustCompile(`<li><a href="(/[^"]+)"`).FindAllStringSubmatch(string(v.open("/-/organizations").body), -1)
	if len(found) != 2 || found[0][1] != "/"+s.org || found[1][1] != "/reader" {
		t.Errorf("the organizations of the reader are %v", found)
	}
	s.signedIn(strangerKey).wantPage(http.StatusOK, "/-/organizations", `href="/stranger"`)
	s.want(http.StatusOK, http.MethodPut, "/user/"+s.org, nil)
	if got := s.signedIn(adminKey).open("/"); got.header.Get("Location") != "/"+s.org {
		t.Errorf("with a default organization it leads to %s", got.header.Get("Location"))
	}
}

func TestUnknownAddressesAreAnsweredInTheFormatOfTheRequest(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	v := s.signedIn(readerKey)
	for _, path := range []string{"/healthz", "/metrics", "/environments/" + s.org, "/" + s.org + "/no/such/page", "/%2e%2e"} {
		v.wantPage(http.StatusNotFound, path, "no page at this address")
		s.visitor().wantPage(http.StatusNotFound, path, "no page at this address")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		s.must(err)
		request.Header.Set("Authorization", "Bearer "+adminKey)
		response, err := http.DefaultClient.Do(request)
		s.must(err)
		s.must(response.Body.Close())
		if response.StatusCode != http.StatusNotFound || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("a client of the API gets %d %s from %s", response.StatusCode, response.Header.Get("Content-Type"), path)
		}
	}
	for _, path := range []string{"/api", "/api/", "/api/v1/flows/" + s.org, "/api/v2", "/api/v2/nothing"} {
		if got := v.open(path); got.status != http.StatusNotFound || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("a browser gets %d %s from %s", got.status, got.header.Get("Content-Type"), path)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if got := s.do(method, "/api/v2/nothing", adminKey, nil); got.status != http.StatusNotFound || len(got.header.Values("Allow")) > 0 {
			t.Errorf("%s of an unknown operation answers %d, Allow %v", method, got.status, got.header.Values("Allow"))
		}
	}
}

func TestFormerNamesRedirectIfOtherPartsOfTheAddressAreEqual(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.signedIn(readerKey)
	for former, now := range map[string]string{s.org: "staging", "env": "testing"} {
		s.createEnvironment(former, evidence.K8S)
		s.renameEnvironment(former, now)
		for _, page := range []string{"", "/diff?from=1&to=2", "/events", "/timeline", "/snapshots/1"} {
			want := "/" + s.org + "/environments/" + now + page
			if got := v.open("/" + s.org + "/environments/" + former + page); got.status != http.StatusFound || got.header.Get("Location") != want {
				t.Errorf("%s of %s leads to %d %s, want %s", page, former, got.status, got.header.Get("Location"), want)
			}
		}
	}
	s.createFlow("flows")
	s.want(http.StatusOK, http.MethodPut, s.flowsPath()+"/flows/rename", []byte(`{"new_name":"build"}`))
	want := "/" + s.org + "/flows/build/trails/flows/package"
	if got := v.open("/" + s.org + "/flows/flows/trails/flows/package"); got.status != http.StatusFound || got.header.Get("Location") != want {
		t.Errorf("a package leads to %d %s, want %s", got.status, got.header.Get("Location"), want)
	}
}

func TestPagesIgnoreSessionsOfRequestsWithAnAuthorizationHeader(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	v := s.signedIn(readerKey)
	for _, sent := range []string{"Bearer key-that-nobody-has", "Bearer " + adminKey, "Basic cHJveHk6cHJveHk="} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/"+s.org, nil)
		s.must(err)
		request.Header.Set("Authorization", sent)
		if got := v.send(request); got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/signin") {
			t.Errorf("with %s the page answers %d", sent, got.status)
		}
	}
}

// TestPagesLinkToEnvironmentsByTheNamesThatTheyHaveNow renames and archives environments in which an artifact ran.
// Others take their former names: no link may lead there.
func TestPagesLinkToEnvironmentsByTheNamesThatTheyHaveNow(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createFlow("build")
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironment("retired", evidence.Server)
	s.createLogical("all", "prod", "retired")
	s.reportArtifact("build", "t", "web", evidence.HashAPIKey("web"), strings.Repeat("a", 40))
	from := s.clock.read()
	s.clock.advance(time.Minute)
	s.reportServer("prod", "web")
	s.reportServer("retired", "web")
	s.clock.advance(time.Minute)
	s.createAudit(`"all"`, from, s.clock.read())
	s.renameEnvironment("prod", "live")
	s.createEnvironment("prod", evidence.Server)
	s.archiveEnvironment("retired")
	v := s.signedIn(readerKey)
	for path, linked := range map[string]string{
		"flows/build/trails/t": "live/snapshots/1",
		"audits/q3":            "live live/snapshots/1",
		"audits/q3?show=requirements&framework=iso-27001": "live live/snapshots/1",
		"environments/all/events":                         "all all/snapshots/1 all/snapshots/2 live",
		"environments/all/timeline":                       "all live/timeline",
	} {
		t.Run(path, func(t *testing.T) {
			shown := v.open("/" + s.org + "/" + path)
			found := map[string]bool{}
			for _, link := range regexp.MustCompile(`href="/`+s.org+`/environments/([^"]+)"`).FindAllSubmatch(shown.body, -1) {
				found[string(link[1])] = true
			}
			if got := strings.Join(slices.Sorted(maps.Keys(found)), " "); got != linked || !strings.Contains(string(shown.body), "retired") {
				t.Errorf("%d links to %s, want %s:\n%s", shown.status, got, linked, shown.body)
			}
		})
	}
}
