package webclient

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"attestry/api/apitest"
)

// Browser is a tab of Chromium.
type Browser struct {
	*apitest.Service
	ctx context.Context
}

// collectFaults is a script that records violations of a page's policy, and dialogs, which only injected scripts open.
const collectFaults = `window.faults = [];
document.addEventListener('securitypolicyviolation', (e) => faults.push('forbidden: ' + e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample));
window.alert = window.confirm = window.prompt = () => faults.push('executed');`

// NewBrowser starts the browser that scripts/test --real installs.
func NewBrowser(s *apitest.Service) *Browser {
	s.T.Helper()
	path := os.Getenv("ATTESTRY_TEST_CHROMIUM")
	if path == "" {
		s.T.Skip("scripts/test --real tests pages in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("no-sandbox", true))
	ctx, cancel := chromedp.NewExecAllocator(s.T.Context(), options...)
	s.T.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	s.T.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	s.T.Cleanup(cancel)
	_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: collectFaults})
	s.Must(err)
	return &Browser{Service: s, ctx: ctx}
}

// Do runs actions in the browser, which must succeed.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.T.Fatal(err)
	}
}

// Evaluate returns the value of an expression on the open page. It awaits a promise.
func Evaluate[T any](b *Browser, expression string) T {
	b.T.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.T.Fatalf("%s: %v", expression, err)
	}
	return value
}

// Open opens a page and checks its status and that it has no faults.
func (b *Browser) Open(status int, path string) {
	b.T.Helper()
	b.Do(chromedp.Navigate(b.URL + path))
	if got := Evaluate[int](b, "performance.getEntriesByType('navigation')[0].responseStatus"); got != status {
		b.T.Errorf("%s answers %d, want %d: %s", path, got, status, Evaluate[string](b, "document.body.innerText"))
	}
	b.WantNoFaults()
}

// faults returns the faults of the page. It first waits for a frame and a timer, because violations are reported by
// later events.
func (b *Browser) faults() []string {
	b.T.Helper()
	settled := chromedp.Evaluate[[]string]("new Promise(done => requestAnimationFrame(() => setTimeout(() => done(faults))))", chromedp.EvalAwaitPromise)
	var faults []string
	apitest.Eventually(b.T, "the page has settled", func() bool {
		// This fails if a click replaces the page meanwhile.
		found, err := chromedp.Run(b.ctx, settled)
		faults = found
		return err == nil
	})
	return faults
}

// WantNoFaults fails the test for each error of the page.
func (b *Browser) WantNoFaults() {
	b.T.Helper()
	if faults := b.faults(); len(faults) > 0 {
		b.T.Errorf("%s: %q", Evaluate[string](b, "location.pathname"), faults)
	}
}

// WantText waits until the page is loaded and has a text.
func (b *Browser) WantText(text string) {
	b.T.Helper()
	WantOnPage(b, "the page has the text "+text, "document.readyState === 'complete' ? document.body.innerText : ''",
		func(found string) bool { return strings.Contains(found, text) })
}

// WantOnPage waits until the value of an expression is as wanted. It tries again after an error, because the page may
// be replaced while the expression is evaluated.
func WantOnPage[T any](b *Browser, what, expression string, isWanted func(T) bool) {
	b.T.Helper()
	apitest.Eventually(b.T, what, func() bool {
		value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
		return err == nil && isWanted(value)
	})
}

// SignIn signs in with the keyboard.
func (b *Browser) SignIn(key, next string) {
	b.T.Helper()
	b.Open(http.StatusOK, next)
	b.WantText("Sign in")
	b.Do(chromedp.KeyEvent(key), chromedp.KeyEvent("\r"))
	WantOnPage(b, "the user is signed in", "location.pathname", func(path string) bool { return path != "/signin" })
}

// wantAccessible checks with axe-core that the page has no moderate or worse violations of accessibility rules.
func (b *Browser) wantAccessible() {
	b.T.Helper()
	axe, err := os.ReadFile(os.Getenv("ATTESTRY_TEST_AXE"))
	b.Must(err)
	Evaluate[bool](b, string(axe)+";true")
	found := Evaluate[[]string](b, `axe.run().then(r => r.violations
		.filter(v => ['serious', 'critical', 'moderate'].includes(v.impact))
		.flatMap(v => v.nodes.map(n => v.id + ': ' + n.target + ' ' + n.failureSummary)))`)
	if len(found) > 0 {
		b.T.Errorf("%s:\n%s", Evaluate[string](b, "location.pathname"), strings.Join(found, "\n"))
	}
}

// look is an appearance of a page.
type look struct {
	name   string
	width  int64
	scheme string
	media  string
}

var looks = []look{{"light", 1280, "light", "screen"}, {"dark", 1280, "dark", "screen"}, {"narrow", 390, "light", "screen"}, {"narrow-dark", 390, "dark", "screen"}, {"wide", 2560, "light", "screen"}, {"wide-dark", 2560, "dark", "screen"}, {"printed", 800, "light", "print"}}

// WantGoodLooks checks in all looks that the page is not wider than the window and, on screens, that it is accessible.
// It writes screenshots to the folder ATTESTRY_TEST_SCREENSHOTS, if that is set.
func (b *Browser) WantGoodLooks(name string) {
	b.T.Helper()
	for _, as := range looks {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: as.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: as.scheme}},
		})
		b.Must(err)
		b.Do(chromedp.EmulateViewport(as.width, 900))
		if over := Evaluate[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
			b.T.Errorf("%s is %d pixels too wide for %d", name, over, as.width)
		}
		if as.media == "screen" {
			b.wantAccessible()
		}
		b.screenshot(name + "-" + as.name)
	}
}

func (b *Browser) screenshot(name string) {
	b.T.Helper()
	folder := os.Getenv("ATTESTRY_TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	content, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	b.Must(err)
	b.Must(os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s.png", name)), content, 0o600))
}

// WantFaultsFound checks that a request to another site and an alert on a page are found.
func (b *Browser) WantFaultsFound() {
	b.T.Helper()
	Evaluate[bool](b, `document.body.insertAdjacentHTML('beforeend', '<img src="https://evil.example.com/x.png">'); alert(1); true`)
	if faults := b.faults(); len(faults) != 2 {
		b.T.Fatalf("of two things that a page must not do, %q is found", faults)
	}
}

// alwaysShown is the number of bytes of a text that all pages show.
const alwaysShown = 100

// WantShown checks that a page shows the beginnings of texts. White space may differ.
func (b *Browser) WantShown(texts []string) {
	b.T.Helper()
	oneSpaced := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	shown := oneSpaced(Evaluate[string](b, "document.body.innerText"))
	for _, text := range texts {
		if !strings.Contains(shown, oneSpaced(text[:min(len(text), alwaysShown)])) {
			b.T.Errorf("%s does not show %q", Evaluate[string](b, "location.href"), text)
		}
	}
}

// Click clicks at most 5 links and buttons one after the other, by their texts. The settings are in the header.
func (b *Browser) Click(texts ...string) {
	b.T.Helper()
	for _, text := range texts {
		part := "main"
		if text == "Settings" {
			part = "header"
		}
		b.Do(chromedp.Click(chromedp.Search(fmt.Sprintf(`//%s//*[self::a or self::button or self::summary][normalize-space()=%q]`, part, text))))
		b.WantNoFaults()
	}
	if len(texts) > 5 {
		b.T.Errorf("%q are more than 5 clicks", texts)
	}
}

// Enter fills in a field of a form.
func (b *Browser) Enter(field, text string) {
	b.T.Helper()
	b.Do(chromedp.SendKeys("#field-"+field, text))
}
