package web

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"attestry/api/server"
	"attestry/evidence"
)

const (
	fingerprint = "62bd363c808f722d109b64e12d0aece4a8449e7037be2ef4d004ce1e46c48758"
	// script, attribute and link are what hostile clients send.
	script    = `<script>alert(1)</script>`
	attribute = `\" onmouseover=\"x` // as JSON has it
	link      = `javascript:alert(1)`
)

// fakeAPI answers with what is canned for a method and target, in turn, the last one for ever.
type fakeAPI struct {
	answers map[string][]string
	asked   []string
}

func (*fakeAPI) ServePage(string, string, ...fiber.Handler) {}

func (*fakeAPI) ReadForm(*fiber.Ctx, int64) error { return nil }

func (*fakeAPI) ServeOtherPages(fiber.Handler) {}

func (*fakeAPI) Explain(_ context.Context, err error) (int, string, http.Header) {
	return http.StatusInternalServerError, err.Error(), nil
}

func (f *fakeAPI) Ask(_ *fiber.Ctx, query server.PageQuery) *server.PageAnswer {
	asked := query.Method + " " + query.Target
	f.asked = append(f.asked, asked)
	if before, _, ok := strings.Cut(asked, "?ids="); ok {
		asked = before + "?ids" // in the order of the page
	}
	answers := f.answers[asked]
	if len(answers) == 0 {
		return newAnswer(http.StatusNotFound, []byte(`{"message":"`+script+` not found"}`))
	}
	if len(answers) > 1 {
		f.answers[asked] = answers[1:]
	}
	if strings.HasPrefix(answers[0], "400 ") {
		return newAnswer(http.StatusBadRequest, []byte(answers[0][len("400 "):]))
	}
	return newAnswer(http.StatusOK, []byte(answers[0]))
}

func newAnswer(status int, content []byte) *server.PageAnswer {
	var response fasthttp.Response
	response.SetStatusCode(status)
	response.SetBodyRaw(content)
	return server.NewPageAnswer(&response)
}

// shownPage is what a browser gets.
type shownPage struct {
	status   int
	location string
	text     string
}

// open shows a page to somebody who is signed in.
func open(t *testing.T, api *fakeAPI, path string) shownPage {
	t.Helper()
	site, err := New(Options{
		Clock: func() time.Time { return time.Unix(1793620000, 0) }, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	site.api = api
	app := fiber.New()
	for _, one := range site.pages() {
		app.Get(one.path, site.show(func(p *page) error {
			p.viewer = evidence.Principal{Name: "ada"}
			return one.show(p)
		}))
	}
	response, err := app.Test(httptest.NewRequest(http.MethodGet, path, nil), -1)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	shown := shownPage{status: response.StatusCode, location: response.Header.Get("Location"), text: string(content)}
	for _, hostile := range []string{"<script>alert", `" onmouseover="`, `href="javascript:`, " style=", "ZgotmplZ"} {
		if strings.Contains(shown.text, hostile) {
			t.Errorf("%s has %s", path, hostile)
		}
	}
	checkOutline(t, path, shown.text)
	if len(shown.text) > 150<<10 {
		t.Errorf("%s has %d bytes", path, len(shown.text))
	}
	return shown
}

var (
	headings = regexp.MustCompile(`<h([1-6])[ >]`)
	ids      = regexp.MustCompile(` id="([^"]*)"`)
)

// checkOutline fails the test if headings leave out a level, or if an id is there twice.
func checkOutline(t *testing.T, path, text string) {
	t.Helper()
	level := 0
	for _, found := range headings.FindAllStringSubmatch(text, -1) {
		next := int(found[1][0] - '0')
		if next > level+1 || next == 1 && level > 0 {
			t.Errorf("%s: heading of level %d behind one of level %d", path, next, level)
		}
		level = next
	}
	seen := map[string]bool{}
	for _, found := range ids.FindAllStringSubmatch(text, -1) {
		if seen[found[1]] {
			t.Errorf("%s: the id %s is there twice", path, found[1])
		}
		seen[found[1]] = true
	}
}

// has fails the test unless a page has all of these texts.
func (s shownPage) has(t *testing.T, texts ...string) {
	t.Helper()
	if s.status != http.StatusOK {
		t.Fatalf("status %d: %s", s.status, s.text)
	}
	for _, text := range texts {
		if !strings.Contains(s.text, text) {
			t.Errorf("page lacks %q:\n%s", text, s.text)
		}
	}
}

func TestUnknownNamesCanBeSearchedFor(t *testing.T) {
	shown := open(t, &fakeAPI{}, "/acme/flows/nowhere")
	if shown.status != http.StatusNotFound {
		t.Fatalf("status %d", shown.status)
	}
	for _, text := range []string{`action="/acme/search"`, `<label for="find">`, "&lt;script&gt;alert(1)&lt;/script&gt; not found"} {
		if !strings.Contains(shown.text, text) {
			t.Errorf("page lacks %q:\n%s", text, shown.text)
		}
	}
}
