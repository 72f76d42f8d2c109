package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/links"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/sessions"
	"attestry/storage/tenancy"
	"attestry/storage/tenancy/tenancytest"
)

const (
	fingerprint = "62bd363c808f722d109b64e12d0aece4a8449e7037be2ef4d004ce1e46c48758"
	// script, attribute and link are texts of hostile clients.
	script    = `<script>alert(1)</script>`
	attribute = `\" onmouseover=\"x` // as JSON has it
	link      = `javascript:alert(1)`
	// escapedScript is how pages show the beginning of script.
	escapedScript = "&lt;script&gt;alert(1)"
	// maxPage is the maximum size of a page, in bytes.
	maxPage = 150 << 10
)

// testTime is the current time of the tests.
var testTime = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// cannedAnswer is an answer of fakeAPI.
type cannedAnswer struct {
	status int
	body   string
	header map[string]string
	// stream is sent instead of the body, unless it is nil.
	stream io.Reader
}

// cannedAnswers are answers by method and target, given one after the other; the last one repeats. A target without a
// query answers all queries that have no answers of their own.
type cannedAnswers map[string][]cannedAnswer

// canned are answers with the status 200.
func canned(bodies ...string) []cannedAnswer {
	answers := make([]cannedAnswer, 0, len(bodies))
	for _, body := range bodies {
		answers = append(answers, cannedAnswer{status: http.StatusOK, body: body})
	}
	return answers
}

// withHostile is an answer in JSON, in which script, attribute and link replace %[1]s, %[2]s and %[3]s.
func withHostile(format string) []cannedAnswer {
	return canned(fmt.Sprintf(format, script, attribute, link))
}

func refused(status int, body string) []cannedAnswer {
	return []cannedAnswer{{status: status, body: body}}
}

// fakeAPI gives canned answers and records the queries. It serves the site to a browser that is signed in.
type fakeAPI struct {
	app     *fiber.App
	site    *Site
	answers cannedAnswers
	queries []server.PageQuery
	cookies http.CookieJar
}

func newFakeAPI(t *testing.T, answers cannedAnswers) *fakeAPI {
	t.Helper()
	site, err := New(Options{
		Links: links.Links{Base: "http://localhost"}, Identities: newIdentities(t), Storage: sessions.New(pebbletest.Open(t, filepath.Join(t.TempDir(), "sessions"), sessions.Schemas()), time.Now),
		Clock: func() time.Time { return testTime },
	})
	if err != nil {
		t.Fatal(err)
	}
	api := &fakeAPI{app: fiber.New(), site: site, answers: answers}
	api.signOut(t)
	const signIn = "/-/begin"
	api.app.Get(signIn, func(c *fiber.Ctx) error {
		return site.sessions.Begin(c, identity.Session{KeyHash: evidence.HashAPIKey(viewerKey)})
	})
	site.Mount(api)
	api.open(t, signIn)
	return api
}

// signOut deletes the cookies of the browser.
func (f *fakeAPI) signOut(t *testing.T) {
	t.Helper()
	var err error
	if f.cookies, err = cookiejar.New(nil); err != nil {
		t.Fatal(err)
	}
}

func (*fakeAPI) ServeOtherPages(fiber.Handler) {}

// Operation knows no operation: TestFormsAreFilledWithStoredValues and others test forms with the real ones.
func (*fakeAPI) Operation(string) (server.Operation, bool) { return server.Operation{}, false }

func (*fakeAPI) Explain(_ context.Context, err error) (int, string, http.Header) {
	if evidence.CodeOf(err) == evidence.Forbidden {
		return http.StatusForbidden, err.Error(), nil
	}
	return http.StatusInternalServerError, err.Error(), nil
}

func (f *fakeAPI) ServePage(method, path string, serve ...fiber.Handler) {
	f.app.Add(method, path, serve...)
}

func (*fakeAPI) ReadForm(*fiber.Ctx, int64) error { return nil }

func (f *fakeAPI) Ask(_ *fiber.Ctx, query server.PageQuery) *server.PageAnswer {
	f.queries = append(f.queries, query)
	answer := f.answerTo(query)
	var response fasthttp.Response
	response.SetStatusCode(answer.status)
	for name, value := range answer.header {
		response.Header.Set(name, value)
	}
	response.SetBodyString(answer.body)
	if answer.stream != nil {
		response.SetBodyStream(answer.stream, -1)
	}
	return &server.PageAnswer{Response: &response}
}

// answerTo returns the next answer to a query.
func (f *fakeAPI) answerTo(query server.PageQuery) cannedAnswer {
	key := query.Method + " " + query.Target
	if len(f.answers[key]) == 0 {
		key, _, _ = strings.Cut(key, "?")
	}
	answers := f.answers[key]
	if len(answers) == 0 {
		return cannedAnswer{status: http.StatusNotFound, body: `{"message":"` + script + ` not found"}`}
	}
	if len(answers) > 1 {
		f.answers[key] = answers[1:]
	}
	return answers[0]
}

// viewerKey is the API key of ada, who views the pages.
const viewerKey = "the-key-of-ada-who-sees-pages"

// newIdentities has the user ada, whose default organization is acme.
func newIdentities(t *testing.T) *tenancy.Tenancy {
	t.Helper()
	identities := tenancytest.Open(t, identity.Bootstrap{
		Users:         []identity.DeclaredUser{tenancytest.User("ada", viewerKey)},
		Organizations: []identity.DeclaredOrganization{{Name: "acme", Members: map[string]evidence.Role{"ada": evidence.Admin}, Beta: new(true)}},
	}, nil)
	ada, err := identities.Authenticate(t.Context(), viewerKey)
	if err == nil {
		err = identities.SetDefaultOrganization(t.Context(), ada, "acme")
	}
	if err != nil {
		t.Fatal(err)
	}
	return identities
}

// shownPage is a page as a browser gets it.
type shownPage struct {
	path   string
	status int
	header http.Header
	text   string
}

func (f *fakeAPI) open(t *testing.T, path string) shownPage {
	t.Helper()
	return f.send(t, httptest.NewRequest(http.MethodGet, path, nil))
}

// send sends a request with the cookies of the browser, and checks the page that answers it.
func (f *fakeAPI) send(t *testing.T, request *http.Request) shownPage {
	t.Helper()
	address := &url.URL{Scheme: "http", Host: "localhost"}
	for _, cookie := range f.cookies.Cookies(address) {
		request.AddCookie(cookie)
	}
	response, err := f.app.Test(request, -1)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	f.cookies.SetCookies(address, response.Cookies())
	shown := shownPage{path: request.URL.RequestURI(), status: response.StatusCode, header: response.Header, text: strings.ReplaceAll(string(content), "<wbr>", "")}
	shown.check(t)
	shown.text = labels.ReplaceAllString(shown.text, "")
	return shown
}

var (
	headings = regexp.MustCompile(`<h([1-6])[ >]`)
	ids      = regexp.MustCompile(` id="([^"]*)"`)
	// labels are attributes of the cells of a table, shown where its rows are stacked.
	labels = regexp.MustCompile(` data-label="[^"<>]+"`)
)

// check fails the test if a page is too large, if a text of a client became markup, if anything is inline that browsers
// refuse, if headings skip a level, if a cell of a table has no label, or if two elements have the same id.
func (s shownPage) check(t *testing.T) {
	t.Helper()
	if len(s.text) > maxPage {
		t.Errorf("%s has %d bytes", s.path, len(s.text))
	}
	wrong := []string{"<script>alert", `" onmouseover="x`, `href="javascript:`, `src="javascript:`, "ZgotmplZ", "<td>", `<td class`}
	if strings.HasPrefix(s.header.Get("Content-Type"), "text/html") {
		wrong = append(wrong, "style=") // drawings may have it
	}
	s.lacks(t, wrong...)
	level := 0
	for _, found := range headings.FindAllStringSubmatch(s.text, -1) {
		next := int(found[1][0] - '0')
		if next > level+1 || next == 1 && level > 0 {
			t.Errorf("%s: heading of level %d behind one of level %d", s.path, next, level)
		}
		level = next
	}
	seen := map[string]bool{}
	for _, found := range ids.FindAllStringSubmatch(s.text, -1) {
		if seen[found[1]] {
			t.Errorf("%s: the id %s is there twice", s.path, found[1])
		}
		seen[found[1]] = true
	}
}

// has fails the test unless a page has the status 200 and all of these texts.
func (s shownPage) has(t *testing.T, texts ...string) {
	t.Helper()
	s.answers(t, http.StatusOK, texts...)
}

// answers fails the test unless a page has a status and all of these texts.
func (s shownPage) answers(t *testing.T, status int, texts ...string) {
	t.Helper()
	if s.status != status {
		t.Fatalf("%s: status %d, want %d: %s", s.path, s.status, status, s.text)
	}
	for _, text := range texts {
		if !strings.Contains(s.text, text) {
			t.Errorf("%s lacks %q:\n%s", s.path, text, s.text)
		}
	}
}

// lacks fails the test if a page has one of these texts.
func (s shownPage) lacks(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(s.text, text) {
			t.Errorf("%s has %q:\n%s", s.path, text, s.text)
		}
	}
}

// redirects fails the test unless a page redirects to another address.
func (s shownPage) redirects(t *testing.T, status int, address string) {
	t.Helper()
	if got := s.header.Get("Location"); s.status != status || got != address {
		t.Errorf("%s: %d to %q, want %d to %q", s.path, s.status, got, status, address)
	}
}
