package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"attestry/api/server"
	"attestry/api/web/session"
	"attestry/evidence"
	"attestry/links"
)

// governanceTime is what time it is in tests.
var governanceTime = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// cannedAnswer is an answer of governanceAPI.
type cannedAnswer struct {
	status int // 0 for 200
	body   string
	header map[string]string
}

// governanceAPI answers with canned JSON by path, and records what it was asked.
type governanceAPI struct {
	app     *fiber.App
	answers map[string]cannedAnswer
	asked   []server.PageQuery
}

func (*governanceAPI) ReadForm(*fiber.Ctx, int64) error { return nil }

func (*governanceAPI) ServeOtherPages(fiber.Handler) {}

func (*governanceAPI) Explain(_ context.Context, err error) (int, string, http.Header) {
	if evidence.CodeOf(err) == evidence.Forbidden {
		return http.StatusForbidden, err.Error(), nil
	}
	return http.StatusInternalServerError, err.Error(), nil
}

func (g *governanceAPI) ServePage(method, path string, serve ...fiber.Handler) {
	g.app.Add(method, path, serve...)
}

func (g *governanceAPI) Ask(_ *fiber.Ctx, query server.PageQuery) *server.PageAnswer {
	g.asked = append(g.asked, query)
	path, _, _ := strings.Cut(query.Target, "?")
	answer, known := g.answers[path]
	if !known {
		answer = cannedAnswer{status: http.StatusNotFound, body: `{"message": "There is none"}`}
	}
	var response fasthttp.Response
	if answer.status != 0 {
		response.SetStatusCode(answer.status)
	}
	for name, value := range answer.header {
		response.Header.Set(name, value)
	}
	response.SetBodyString(answer.body)
	return server.NewPageAnswer(&response)
}

// governanceUser is the only one who has a key in tests.
type governanceUser struct{}

func (governanceUser) Authenticate(context.Context, string) (evidence.Principal, error) {
	return evidence.Principal{Name: "ada"}, nil
}

func (governanceUser) UserPrincipal(context.Context, string, time.Time) (evidence.Principal, error) {
	return evidence.Principal{Name: "ada"}, nil
}

func (governanceUser) AuthenticateHash(context.Context, string) (evidence.Principal, error) {
	return evidence.Principal{Name: "ada"}, nil
}

func (governanceUser) DefaultOrganization(context.Context, evidence.Principal) (string, error) {
	return "acme", nil
}

// governanceStorage keeps sessions in memory.
type governanceStorage map[string][]byte

func (g governanceStorage) Get(key string) ([]byte, error) { return g[key], nil }

func (g governanceStorage) Set(key string, value []byte, _ time.Duration) error {
	g[key] = append([]byte{}, value...)
	return nil
}

func (g governanceStorage) Delete(key string) error { delete(g, key); return nil }

func (g governanceStorage) Reset() error { clear(g); return nil }

func (g governanceStorage) Close() error { return nil }

func (g governanceStorage) Extend(context.Context, string, time.Duration) error { return nil }

// governanceSite is a site with a person who is signed in.
type governanceSite struct {
	*governanceAPI
	cookies []*http.Cookie
}

func newGovernanceSite(t *testing.T, answers map[string]cannedAnswer) *governanceSite {
	t.Helper()
	api := &governanceAPI{app: fiber.New(), answers: answers}
	site, err := New(Options{
		Links: links.Links{Base: "http://localhost"}, Identities: governanceUser{}, Storage: governanceStorage{},
		Clock: func() time.Time { return governanceTime }, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	api.app.Get("/-/begin", func(c *fiber.Ctx) error { return site.sessions.Begin(c, session.Key, "secret") })
	site.Mount(api)
	signedIn := &governanceSite{governanceAPI: api}
	answer, _ := signedIn.send(t, httptest.NewRequest(http.MethodGet, "/-/begin", nil))
	signedIn.cookies = answer.Cookies()
	return signedIn
}

// send sends a request with the cookies of the browser.
func (g *governanceSite) send(t *testing.T, request *http.Request) (*http.Response, string) {
	t.Helper()
	for _, cookie := range g.cookies {
		request.AddCookie(cookie)
	}
	answer, err := g.app.Test(request, -1)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(content)
}

func (g *governanceSite) open(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	return g.send(t, httptest.NewRequest(http.MethodGet, path, nil))
}

// hostile are texts that must be shown as they are. They stand in JSON as %[1]s, %[2]s and %[3]s.
var hostile = []any{`<script>alert(1)</script>`, `\" onmouseover=\"x`, `javascript:alert(1)`}

// withHostile is JSON with the hostile texts in it.
func withHostile(format string) cannedAnswer {
	return cannedAnswer{body: fmt.Sprintf(format, hostile...)}
}

// checkHarmless fails if a hostile text is markup, or if anything is inline that browsers refuse.
func checkHarmless(t *testing.T, page string) {
	t.Helper()
	for _, wrong := range []string{"<script>alert", `" onmouseover="x`, `href="javascript:`, `src="javascript:`, "style=", "ZgotmplZ"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page has %s:\n%s", wrong, page)
		}
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Errorf("the page does not show the text of a client:\n%s", page)
	}
}
