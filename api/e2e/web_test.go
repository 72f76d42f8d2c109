package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"attestry/api/web/webtest"
	"attestry/evidence"
)

// visitor is a browser without JavaScript.
type visitor struct {
	*service
	client *http.Client
}

func (s *service) visitor() *visitor {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	s.must(err)
	return &visitor{service: s, client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// signedIn returns a visitor who is signed in with a key.
func (s *service) signedIn(key string) *visitor {
	s.t.Helper()
	v := s.visitor()
	s.must(webtest.SignIn(v.client, s.URL, key))
	return v
}

func (v *visitor) send(request *http.Request) answer {
	v.t.Helper()
	request.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	response, err := v.client.Do(request)
	v.must(err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	v.must(err)
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		content = bytes.ReplaceAll(content, []byte("<wbr>"), nil) // <wbr> is not part of the text
	}
	return answer{status: response.StatusCode, header: response.Header, body: content}
}

func (v *visitor) open(path string) answer {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.URL+path, nil)
	v.must(err)
	return v.send(request)
}

func (v *visitor) post(path string, form url.Values) answer {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.URL+path, strings.NewReader(form.Encode()))
	v.must(err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", v.URL)
	return v.send(request)
}

func (v *visitor) signIn(key, next string) answer {
	v.t.Helper()
	return v.post("/signin", url.Values{"key": {key}, "next": {next}})
}

// wantPage opens a page and checks that it has a status and texts.
func (v *visitor) wantPage(status int, path string, texts ...string) {
	v.t.Helper()
	got := v.open(path)
	for _, text := range texts {
		if got.status != status || !strings.Contains(string(got.body), text) {
			v.t.Errorf("%s answers %d without %q:\n%s", path, got.status, text, got.body)
		}
	}
	if !strings.Contains(got.header.Get("Content-Security-Policy"), "script-src 'self'") {
		v.t.Errorf("%s may run any script", path)
	}
}

func TestSignInRedirectsToTheRequestedPage(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	s.createEnvironment("production", evidence.K8S)
	v := s.visitor()
	page := "/" + s.org + "/environments/production?state=failing"
	redirect := v.open(page)
	signIn := "/signin?next=" + url.QueryEscape(page)
	if redirect.status != http.StatusSeeOther || redirect.header.Get("Location") != signIn {
		t.Fatalf("the page leads to %d %s", redirect.status, redirect.header.Get("Location"))
	}
	if got := v.signIn("key-that-nobody-has", page); got.status != http.StatusUnauthorized || !strings.Contains(string(got.body), "This API key is not valid.") {
		t.Errorf("a wrong key answers %d: %s", got.status, got.body)
	}
	got := v.signIn(readerKey, page)
	if got.status != http.StatusSeeOther || got.header.Get("Location") != page {
		t.Errorf("signing in leads to %d %s", got.status, got.header.Get("Location"))
	}
	cookies := got.header.Values("Set-Cookie")
	if len(cookies) == 0 {
		t.Error("signing in sets no cookie")
	}
	for _, cookie := range cookies {
		if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") || strings.Contains(cookie, readerKey) {
			t.Errorf("the cookie is %s", cookie)
		}
	}
	v.wantPage(http.StatusOK, page, "There is no snapshot yet")
	v.wantPage(http.StatusOK, "/"+s.org, "production")
	for _, next := range []string{"https://elsewhere.example.com/", "//elsewhere.example.com", `/\elsewhere.example.com`, "javascript:alert(1)"} {
		if got := s.visitor().signIn(readerKey, next); got.header.Get("Location") != "/" {
			t.Errorf("after signing in, %s leads to %s", next, got.header.Get("Location"))
		}
	}
}

func TestKeysOfServiceAccountsDoNotSignIn(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.org, []byte(`{"name":"robot","privilege":"reader"}`))
	key := lookup(t, s.want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.org+"/robot/api-keys", []byte(`{"description":"ci"}`)).value(t), "key").(string)
	if got := s.visitor().signIn(key, "/"); got.status != http.StatusForbidden || !strings.Contains(string(got.body), "service account") {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
	if err := webtest.SignIn(s.visitor().client, s.URL, key); err == nil {
		t.Error("webtest.SignIn does not report the refusal")
	}
}

func TestSessionsEndWhenPeopleSignOutOrLoseTheirKey(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true, stoppedAt: noonOf30March})
	page := "/" + s.org
	v := s.signedIn(readerKey)
	address, err := url.Parse(s.URL)
	s.must(err)
	copied := s.visitor()
	copied.client.Jar.SetCookies(address, v.client.Jar.Cookies(address))
	copied.wantPage(http.StatusOK, page, s.org)
	if got := v.post("/signout", nil); got.status != http.StatusSeeOther {
		t.Errorf("signing out answers %d: %s", got.status, got.body)
	}
	if got := copied.open(page); got.status != http.StatusSeeOther {
		t.Errorf("a copy of the session that was ended answers %d", got.status)
	}
	created := s.do(http.MethodPost, "/api/v2/user/api-keys", memberKey, []byte(`{"description":"browser"}`))
	again := s.signedIn(lookup(t, created.value(t), "key").(string))
	again.wantPage(http.StatusOK, page, s.org)
	s.do(http.MethodDelete, "/api/v2/user/api-keys/"+lookup(t, created.value(t), "id").(string), memberKey, nil)
	if got := again.open(page); got.status != http.StatusSeeOther {
		t.Errorf("the session of a key that was revoked answers %d", got.status)
	}
	idle := s.signedIn(readerKey)
	s.clock.advance(11 * time.Hour)
	idle.wantPage(http.StatusOK, page, s.org)
	s.clock.advance(11 * time.Hour)
	idle.wantPage(http.StatusOK, page, s.org)
	s.clock.advance(13 * time.Hour)
	if got := idle.open(page); got.status != http.StatusSeeOther {
		t.Errorf("a session that was not used for 13 hours answers %d", got.status)
	}
}

func TestAPIAcceptsSessionsForReadingOnly(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	v := s.signedIn(adminKey)
	address := "/api/v2/environments/" + s.org
	if got := v.open(address); got.status != http.StatusOK {
		t.Errorf("reading answers %d: %s", got.status, got.body)
	}
	request := func(method, authorization string) answer {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+address, strings.NewReader("{}"))
		s.must(err)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		return v.send(r)
	}
	if got := request(http.MethodHead, ""); got.status != http.StatusOK || len(got.body) > 0 || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("HEAD answers %d %v: %s", got.status, got.header, got.body)
	}
	if got := request(http.MethodPut, ""); got.status != http.StatusForbidden || string(got.body) != `{"message":"CSRF token missing"}` {
		t.Errorf("writing answers %d: %s", got.status, got.body)
	}
	if got := request(http.MethodGet, "Bearer key-that-nobody-has"); got.status != http.StatusUnauthorized {
		t.Errorf("with a wrong key the session is taken: %d", got.status)
	}
	if got := request(http.MethodPut, "Bearer "+adminKey); got.status != http.StatusBadRequest {
		t.Errorf("with a key, writing answers %d: %s", got.status, got.body)
	}
	if got := s.visitor().open(address); got.status != http.StatusUnauthorized {
		t.Errorf("without a session reading answers %d", got.status)
	}
}

func TestPagesLinkToControlsIfTheOrganizationHasThem(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.signedIn(adminKey)
	for org, has := range map[string]bool{s.org: true, s.public: false} {
		for _, path := range []string{"/" + org, "/" + org + "/members", "/" + org + "/search"} {
			got := v.open(path)
			if got.status != http.StatusOK || strings.Contains(string(got.body), `href="/`+org+`/controls"`) != has || strings.Contains(string(got.body), "controls by name and identifier") != (has && strings.HasSuffix(path, "/search")) {
				t.Errorf("%s answers %d, and does not show controls as it has them (%t):\n%s", path, got.status, has, got.body)
			}
		}
	}
	v.wantPage(http.StatusForbidden, "/"+s.public+"/controls", betaOffMessage)
	s.want(http.StatusOK, http.MethodPut, "/organizations/"+s.org+"/experimental_features", []byte(`{"experimental_features_enabled":false}`))
	if got := v.open("/" + s.org); strings.Contains(string(got.body), "/controls") {
		t.Errorf("they are still shown:\n%s", got.body)
	}
}

func TestPagesHideForeignOrganizations(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("production", evidence.K8S)
	v := s.signedIn(strangerKey)
	for _, path := range []string{"", "/environments", "/environments/production", "/environments/production/snapshots/1"} {
		foreign, unknown := v.open("/"+s.org+path), v.open("/nowhere"+path)
		if foreign.status != http.StatusForbidden || unknown.status != http.StatusForbidden {
			t.Errorf("%s answers %d and %d", path, foreign.status, unknown.status)
		}
		if got, want := strings.ReplaceAll(string(foreign.body), s.org, "x"), strings.ReplaceAll(string(unknown.body), "nowhere", "x"); got != want {
			t.Errorf("%s answers\n%s\nand of an organization that does not exist\n%s", path, got, want)
		}
	}
	v.wantPage(http.StatusOK, "/"+s.public, s.public)
	reader := s.signedIn(readerKey)
	reader.wantPage(http.StatusNotFound, "/"+s.org+"/environments/unknown", "does not exist")
	reader.wantPage(http.StatusNotFound, "/"+s.org+"/no/such/page", "no page at this address")
	if got := reader.open("/api/v2/nothing"); got.status != http.StatusNotFound || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("an unknown operation answers %d %s", got.status, got.header.Get("Content-Type"))
	}
}

func TestWrongKeysAreSlowedWhenSigningIn(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true, stoppedAt: noonOf30March, settings: []string{"ATTESTRY_FAILED_KEY_LIMIT=3"}})
	v := s.visitor()
	for range 3 {
		if got := v.signIn("key-that-nobody-has", "/"); got.status != http.StatusUnauthorized {
			t.Errorf("a wrong key answers %d", got.status)
		}
	}
	if got := v.signIn("another-key-that-nobody-has", "/"); got.status != http.StatusTooManyRequests {
		t.Errorf("a fourth wrong key answers %d", got.status)
	}
}

func TestAddressesOfPagesAreUnknownWhenPagesAreOff(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true, settings: []string{"ATTESTRY_WEB=off"}})
	for path, status := range map[string]int{"/signin": http.StatusNotFound, "/" + s.org: http.StatusNotFound, "/": http.StatusFound} {
		if got := s.visitor().open(path); got.status != status {
			t.Errorf("%s answers %d", path, got.status)
		}
	}
}

func TestPagesCountAgainstTheRateLimitOfTheUser(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true, settings: []string{"ATTESTRY_RATE_LIMIT_KEY=3"}})
	v := s.signedIn(readerKey)
	var refused answer
	eventually(t, "a page is refused", func() bool {
		refused = v.open("/" + s.org + "/members")
		return refused.status == http.StatusTooManyRequests
	})
	if refused.header.Get("Retry-After") == "" || !strings.Contains(string(refused.body), rateExceeded) {
		t.Errorf("the refusal is %v: %s", refused.header, refused.body)
	}
	if got := s.limited(s.org, readerKey); got.status != http.StatusTooManyRequests {
		t.Errorf("after the pages, an operation answers %d", got.status)
	}
	s.signedIn(memberKey).wantPage(http.StatusOK, "/"+s.org+"/members", "Members")
}

func TestPagesAreLoggedWithTheirOperations(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	v := s.signedIn(readerKey)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/"+s.org+"/members", nil)
	s.must(err)
	request.Header.Set("X-Request-ID", "page-1")
	if got := v.send(request); got.header.Get("X-Request-ID") != "page-1" {
		t.Errorf("the header is %v", got.header)
	}
	var routes []string
	for line := range strings.Lines(s.log.String()) {
		var logged struct {
			Msg, Route string
			ID         string `json:"request_id"`
		}
		s.must(json.Unmarshal([]byte(line), &logged))
		if logged.Msg == "request" && logged.ID == "page-1" {
			routes = append(routes, logged.Route)
		}
	}
	if got, want := strings.Join(routes, " "), "/organizations/{org}/members /:org/members"; got != want {
		t.Errorf("the log has the routes %s, want %s", got, want)
	}
}

func TestHistoryShowsSnapshotsThatWereNotEvaluated(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportFile("build", "web")
	s.reportServer("prod", "web")
	s.createLogical("all", "prod")
	s.storePolicy("provenance", "provenance: {required: true}")
	s.attach("prod", "provenance")
	s.reportServer("prod", "web", "db")
	for environment, want := range map[string]string{
		"prod": `3 false 2 true 1 null `,
		"all":  `3 false 2 true 1 null `,
	} {
		got := ""
		for _, item := range s.read("/snapshots/" + s.org + "/" + environment).([]any) {
			item := item.(map[string]any)
			got += asJSON(item["index"]) + " " + asJSON(item["state"]) + " "
		}
		if got != want {
			t.Errorf("the snapshots of %s are %s", environment, got)
		}
		v := s.signedIn(readerKey)
		v.wantPage(http.StatusOK, "/"+s.org+"/environments/"+environment, `Snapshot 1</a> <span class="state unknown">not judged</span>`)
		if got := v.open("/" + s.org + "/environments/" + environment + "/sparkline.svg"); !strings.Contains(string(got.body), "3 snapshots, 1 not compliant, 1 not judged<") {
			t.Errorf("the sparkline of %s is %s", environment, got.body)
		}
	}
}

func TestTimelineShowsWhatRanWhen(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createEnvironment("production", evidence.Server)
	v := s.signedIn(readerKey)
	path := "/" + s.org + "/environments/production/timeline"
	v.wantPage(http.StatusOK, path, "Nothing is known of this time")
	s.reportServer("production", "stays", "goes")
	s.clock.advance(2 * 24 * time.Hour)
	s.reportServer("production", "stays", "comes")
	v = s.signedIn(readerKey) // the session has ended
	v.wantPage(http.StatusOK, path, "still running at")
	gone := string(v.open(path + "?name=GOES").body)
	if !strings.Contains(gone, "/opt/goes") || strings.Contains(gone, "/opt/stays") || strings.Contains(gone, "still running") {
		t.Errorf("what has stopped is shown as %s", gone)
	}
	// The snapshot that was current when the period began shows what ran before.
	lastDay := string(v.open(path + "?days=1").body)
	if !strings.Contains(lastDay, "/opt/goes") || strings.Count(lastDay, ">before <") != 2 {
		t.Errorf("the last day is shown as %s", lastDay)
	}
	if got := s.signedIn(strangerKey).open(path).status; got != http.StatusForbidden && got != http.StatusNotFound {
		t.Errorf("a stranger gets %d", got)
	}
}

func TestSearchFindsThingsOfAllKindsAndSaysWhy(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.deliverRed()
	s.want(http.StatusCreated, http.MethodPost, "/controls/"+s.org, []byte(`{"identifier":"RELEASE","name":"Releases are agreed"}`))
	s.want(http.StatusOK, http.MethodPatch, s.tagsPath()+"/flow/build", []byte(`{"set_tags":{"team":"payments"}}`))
	for i := range 101 { // so that the trail is not among the newest 100
		s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/build", fmt.Sprintf(`{"name":"later-%d"}`, i))
	}
	s.createFlow("check_out.v2")
	s.attestGeneric("t", "unit,smoke", true, "")
	v := s.signedIn(readerKey)
	for query, want := range map[string][]string{
		"q=K_out.v":                         {"/flows/check_out.v2\">", "chec<mark>k_out.v</mark>2"},
		"q=_&kind=flow":                     {"/flows/check_out.v2\">"},
		"q=t_out":                           {"Nothing was found"},
		"q=unit,s":                          {"attestation_id=", "<mark>unit,s</mark>moke"},
		"q=team:pay":                        {"Nothing was found"},
		"q=team:payments":                   {"/flows/build\">", "tag: <bdi><mark>team:payments</mark>"},
		"q=Team&kind=artifact":              {"Nothing was found"},
		"q=later-1&kind=trail":              {"/trails/later-100\">", "/trails/later-1\">"},
		"q=Prod":                            {"production\">", "name: <bdi><mark>prod</mark>uction"},
		"q=BUI":                             {"/flows/build\">", "<mark>bui</mark>ld"},
		"q=release":                         {"/controls/RELEASE\">", "/policies/releases\">"},
		"q=1.0&kind=trail":                  {"/flows/build/trails/1.0\">", "name: <bdi><mark>1.0</mark>"},
		"q=of-the-trail&kind=attestation":   {"attestation_id=", "name: <bdi><mark>of-the-trail</mark>"},
		"q=prod&state=not+compliant":        {"production\">"},
		"q=prod&state=compliant":            {"Nothing was found"},
		"q=prod&since=2000-01-01":           {"production\">"},
		"q=of-the&until=2000-01-01":         {"Nothing was found"},
		"q=%22%3E%3Cscript%3E&kind=unknown": {"Nothing was found"},
	} {
		shown := v.open("/" + s.org + "/search?" + query)
		for _, text := range want {
			if shown.status != http.StatusOK || !strings.Contains(string(shown.body), text) {
				t.Errorf("%s answers %d without %s:\n%s", query, shown.status, text, shown.body)
			}
		}
	}
}
