package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
	"attestry/api/web/webtest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

func TestSignInRedirectsToTheRequestedPage(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	s.CreateEnvironment("production", evidence.K8S)
	v := webclient.NewVisitor(s)
	page := "/" + s.Org + "/environments/production?state=failing"
	redirect := v.Open(page)
	signIn := "/signin?next=" + url.QueryEscape(page)
	if redirect.Status != http.StatusSeeOther || redirect.Header.Get("Location") != signIn {
		t.Fatalf("the page leads to %d %s", redirect.Status, redirect.Header.Get("Location"))
	}
	apitest.WantAnswer(t, v.SignIn("key-that-nobody-has", page), http.StatusUnauthorized, "This API key is not valid.")
	got := v.SignIn(apitest.ReaderKey, page)
	apitest.Equal(t, got.Status, http.StatusSeeOther)
	apitest.Equal(t, got.Header.Get("Location"), page)
	cookies := got.Header.Values("Set-Cookie")
	if len(cookies) == 0 {
		t.Error("signing in sets no cookie")
	}
	for _, cookie := range cookies {
		if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") || strings.Contains(cookie, apitest.ReaderKey) {
			t.Errorf("the cookie is %s", cookie)
		}
	}
	v.WantPage(http.StatusOK, page, "There is no snapshot yet")
	v.WantPage(http.StatusOK, "/"+s.Org, "production")
	for _, next := range []string{"https://elsewhere.example.com/", "//elsewhere.example.com", `/\elsewhere.example.com`, "javascript:alert(1)"} {
		apitest.Equal(t, webclient.NewVisitor(s).SignIn(apitest.ReaderKey, next).Header.Get("Location"), "/", next)
	}
}

func TestKeysOfServiceAccountsDoNotSignIn(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.Want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.Org, []byte(`{"name":"robot","privilege":"reader"}`))
	key := apitest.Lookup(t, s.Want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.Org+"/robot/api-keys", []byte(`{"description":"ci"}`)).Value(t), "key").(string)
	apitest.WantAnswer(t, webclient.NewVisitor(s).SignIn(key, "/"), http.StatusForbidden, "service account")
	if _, err := webtest.SignIn(webclient.NewVisitor(s).Client, s.URL, key); err == nil {
		t.Error("webtest.SignIn does not report the refusal")
	}
}

func TestSessionsEndWhenPeopleSignOutOrLoseTheirKey(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, StoppedAt: apitest.NoonOf30March})
	page := "/" + s.Org
	v := webclient.SignedIn(s, apitest.ReaderKey)
	address, err := url.Parse(s.URL)
	s.Must(err)
	copied := webclient.NewVisitor(s)
	copied.Client.Jar.SetCookies(address, v.Client.Jar.Cookies(address))
	copied.WantPage(http.StatusOK, page, s.Org)
	apitest.WantAnswer(t, v.Post("/signout", nil), http.StatusSeeOther)
	apitest.Equal(t, copied.Open(page).Status, http.StatusSeeOther, "a copy of the session that was ended answers")
	created := s.Do(http.MethodPost, "/api/v2/user/api-keys", apitest.MemberKey, []byte(`{"description":"browser"}`))
	again := webclient.SignedIn(s, apitest.Lookup(t, created.Value(t), "key").(string))
	again.WantPage(http.StatusOK, page, s.Org)
	s.Do(http.MethodDelete, "/api/v2/user/api-keys/"+apitest.Lookup(t, created.Value(t), "id").(string), apitest.MemberKey, nil)
	apitest.Equal(t, again.Open(page).Status, http.StatusSeeOther, "the session of a key that was revoked answers")
	idle := webclient.SignedIn(s, apitest.ReaderKey)
	s.Clock.Advance(11 * time.Hour)
	idle.WantPage(http.StatusOK, page, s.Org)
	s.Clock.Advance(11 * time.Hour)
	idle.WantPage(http.StatusOK, page, s.Org)
	s.Clock.Advance(13 * time.Hour)
	apitest.Equal(t, idle.Open(page).Status, http.StatusSeeOther, "a session that was not used for 13 hours answers")
}

func TestAPIAcceptsSessionsForReadingOnly(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	v := webclient.SignedIn(s, apitest.AdminKey)
	address := "/api/v2/environments/" + s.Org
	apitest.WantAnswer(t, v.Open(address), http.StatusOK)
	request := func(method, authorization string) apitest.Answer {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+address, strings.NewReader("{}"))
		s.Must(err)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		return v.Send(r)
	}
	if got := request(http.MethodHead, ""); got.Status != http.StatusOK || len(got.Body) > 0 || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("HEAD answers %d %v: %s", got.Status, got.Header, got.Body)
	}
	if got := request(http.MethodPut, ""); got.Status != http.StatusForbidden || string(got.Body) != `{"message":"CSRF token missing"}` {
		t.Errorf("writing answers %d: %s", got.Status, got.Body)
	}
	apitest.Equal(t, request(http.MethodGet, "Bearer key-that-nobody-has").Status,
		http.StatusUnauthorized, "with a wrong key the session is taken")
	apitest.WantAnswer(t, request(http.MethodPut, "Bearer "+apitest.AdminKey), http.StatusBadRequest)
	apitest.Equal(t, webclient.NewVisitor(s).Open(address).Status,
		http.StatusUnauthorized, "without a session reading answers")
}

func TestPagesLinkToControlsIfTheOrganizationHasThem(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	v := webclient.SignedIn(s, apitest.AdminKey)
	for org, has := range map[string]bool{s.Org: true, s.Public: false} {
		for _, path := range []string{"/" + org, "/" + org + "/members", "/" + org + "/search"} {
			got := v.Open(path)
			if got.Status != http.StatusOK || strings.Contains(string(got.Body), `href="/`+org+`/controls"`) != has || strings.Contains(string(got.Body), "controls by name and identifier") != (has && strings.HasSuffix(path, "/search")) {
				t.Errorf("%s answers %d, and does not show controls as it has them (%t):\n%s", path, got.Status, has, got.Body)
			}
		}
	}
	v.WantPage(http.StatusForbidden, "/"+s.Public+"/controls", apitest.BetaOffMessage)
	s.Want(http.StatusOK, http.MethodPut, "/organizations/"+s.Org+"/experimental_features", []byte(`{"experimental_features_enabled":false}`))
	if got := v.Open("/" + s.Org); strings.Contains(string(got.Body), "/controls") {
		t.Errorf("they are still shown:\n%s", got.Body)
	}
}

func TestPagesHideForeignOrganizations(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("production", evidence.K8S)
	v := webclient.SignedIn(s, apitest.StrangerKey)
	for _, path := range []string{"", "/environments", "/environments/production", "/environments/production/snapshots/1"} {
		foreign, unknown := v.Open("/"+s.Org+path), v.Open("/nowhere"+path)
		if foreign.Status != http.StatusForbidden || unknown.Status != http.StatusForbidden {
			t.Errorf("%s answers %d and %d", path, foreign.Status, unknown.Status)
		}
		if got, want := strings.ReplaceAll(string(foreign.Body), s.Org, "x"), strings.ReplaceAll(string(unknown.Body), "nowhere", "x"); got != want {
			t.Errorf("%s answers\n%s\nand of an organization that does not exist\n%s", path, got, want)
		}
	}
	v.WantPage(http.StatusOK, "/"+s.Public, s.Public)
	reader := webclient.SignedIn(s, apitest.ReaderKey)
	reader.WantPage(http.StatusNotFound, "/"+s.Org+"/environments/unknown", "does not exist")
	reader.WantPage(http.StatusNotFound, "/"+s.Org+"/no/such/page", "no page at this address")
	if got := reader.Open("/api/v2/nothing"); got.Status != http.StatusNotFound || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("an unknown operation answers %d %s", got.Status, got.Header.Get("Content-Type"))
	}
}

func TestWrongKeysAreSlowedWhenSigningIn(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, StoppedAt: apitest.NoonOf30March, Settings: []string{"ATTESTRY_FAILED_KEY_LIMIT=3"}})
	v := webclient.NewVisitor(s)
	for range 3 {
		apitest.Equal(t, v.SignIn("key-that-nobody-has", "/").Status, http.StatusUnauthorized, "a wrong key answers")
	}
	apitest.Equal(t, v.SignIn("another-key-that-nobody-has", "/").Status,
		http.StatusTooManyRequests, "a fourth wrong key answers")
}

func TestAddressesOfPagesAreUnknownWhenPagesAreOff(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, Settings: []string{"ATTESTRY_WEB=off"}})
	for path, status := range map[string]int{"/signin": http.StatusNotFound, "/" + s.Org: http.StatusNotFound, "/": http.StatusFound} {
		apitest.Equal(t, webclient.NewVisitor(s).Open(path).Status, status, path)
	}
}

func TestPagesCountAgainstTheRateLimitOfTheUser(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, Settings: []string{"ATTESTRY_RATE_LIMIT_KEY=3"}})
	v := webclient.SignedIn(s, apitest.ReaderKey)
	var refused apitest.Answer
	apitest.Eventually(t, "a page is refused", func() bool {
		refused = v.Open("/" + s.Org + "/members")
		return refused.Status == http.StatusTooManyRequests
	})
	if refused.Header.Get("Retry-After") == "" || !strings.Contains(string(refused.Body), apitest.RateExceeded) {
		t.Errorf("the refusal is %v: %s", refused.Header, refused.Body)
	}
	apitest.Equal(t, s.Limited(s.Org, apitest.ReaderKey).Status,
		http.StatusTooManyRequests, "after the pages, an operation answers")
	webclient.SignedIn(s, apitest.MemberKey).WantPage(http.StatusOK, "/"+s.Org+"/members", "Members")
}

func TestPagesAreLoggedWithTheirOperations(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	v := webclient.SignedIn(s, apitest.ReaderKey)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/"+s.Org+"/members", nil)
	s.Must(err)
	request.Header.Set("X-Request-ID", "page-1")
	if got := v.Send(request); got.Header.Get("X-Request-ID") != "page-1" {
		t.Errorf("the header is %v", got.Header)
	}
	var routes []string
	for line := range strings.Lines(s.Log.String()) {
		var logged struct {
			Msg, Route string
			ID         string `json:"request_id"`
		}
		s.Must(json.Unmarshal([]byte(line), &logged))
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
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportFile("build", "web")
	s.ReportServer("prod", "web")
	s.CreateLogical("all", "prod")
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.Attach("prod", "provenance")
	s.ReportServer("prod", "web", "db")
	for environment, want := range map[string]string{
		"prod": `3 false 2 true 1 null `,
		"all":  `3 false 2 true 1 null `,
	} {
		got := ""
		for _, item := range s.Read("/snapshots/" + s.Org + "/" + environment).([]any) {
			item := item.(map[string]any)
			got += apitest.AsJSON(item["index"]) + " " + apitest.AsJSON(item["state"]) + " "
		}
		apitest.Equal(t, got, want, environment)
		v := webclient.SignedIn(s, apitest.ReaderKey)
		v.WantPage(http.StatusOK, "/"+s.Org+"/environments/"+environment, `Snapshot 1</a> <span class="state unknown">not judged</span>`)
		evidencetest.Contains(t, string(v.Open("/"+s.Org+"/environments/"+environment+"/sparkline.svg").Body),
			"3 snapshots, 1 not compliant, 1 not judged<")
	}
}

func TestTimelineShowsWhatRanWhen(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("production", evidence.Server)
	v := webclient.SignedIn(s, apitest.ReaderKey)
	path := "/" + s.Org + "/environments/production/timeline"
	v.WantPage(http.StatusOK, path, "Nothing is known of this time")
	s.ReportServer("production", "stays", "goes")
	s.Clock.Advance(2 * 24 * time.Hour)
	s.ReportServer("production", "stays", "comes")
	v = webclient.SignedIn(s, apitest.ReaderKey) // the session has ended
	v.WantPage(http.StatusOK, path, "still running at")
	gone := string(v.Open(path + "?name=GOES").Body)
	if !strings.Contains(gone, "/opt/goes") || strings.Contains(gone, "/opt/stays") || strings.Contains(gone, "still running") {
		t.Errorf("what has stopped is shown as %s", gone)
	}
	// The snapshot that was current when the period began shows what ran before.
	lastDay := string(v.Open(path + "?days=1").Body)
	if !strings.Contains(lastDay, "/opt/goes") || strings.Count(lastDay, ">before <") != 2 {
		t.Errorf("the last day is shown as %s", lastDay)
	}
	if got := webclient.SignedIn(s, apitest.StrangerKey).Open(path).Status; got != http.StatusForbidden && got != http.StatusNotFound {
		t.Errorf("a stranger gets %d", got)
	}
}

func TestSearchFindsThingsOfAllKindsAndSaysWhy(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	deliverRed(s)
	s.Want(http.StatusCreated, http.MethodPost, "/controls/"+s.Org, []byte(`{"identifier":"RELEASE","name":"Releases are agreed"}`))
	s.Want(http.StatusOK, http.MethodPatch, s.TagsPath()+"/flow/build", []byte(`{"set_tags":{"team":"payments"}}`))
	for i := range 101 { // so that the trail is not among the newest 100
		s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/build", fmt.Sprintf(`{"name":"later-%d"}`, i))
	}
	s.CreateFlow("check_out.v2")
	s.AttestGeneric("t", "unit,smoke", true, "")
	v := webclient.SignedIn(s, apitest.ReaderKey)
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
		shown := v.Open("/" + s.Org + "/search?" + query)
		for _, text := range want {
			apitest.WantAnswer(t, shown, http.StatusOK, text)
		}
	}
}
