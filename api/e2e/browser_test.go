package e2e_test

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
)

// browser is a tab of Chromium.
type browser struct {
	*service
	ctx context.Context
}

// collectFaults is a script that records violations of a page's policy, and dialogs, which only injected scripts open.
const collectFaults = `window.faults = [];
document.addEventListener('securitypolicyviolation', (e) => faults.push('forbidden: ' + e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample));
window.alert = window.confirm = window.prompt = () => faults.push('executed');`

// browser starts the browser that scripts/test --real installs.
func (s *service) browser() *browser {
	s.t.Helper()
	path := os.Getenv("ATTESTRY_TEST_CHROMIUM")
	if path == "" {
		s.t.Skip("scripts/test --real tests pages in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("no-sandbox", true))
	ctx, cancel := chromedp.NewExecAllocator(s.t.Context(), options...)
	s.t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	s.t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	s.t.Cleanup(cancel)
	_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: collectFaults})
	s.must(err)
	return &browser{service: s, ctx: ctx}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// evaluate returns the value of an expression on the open page. It awaits a promise.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// open opens a page and checks its status and that it has no faults.
func (b *browser) open(status int, path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.URL + path))
	if got := evaluate[int](b, "performance.getEntriesByType('navigation')[0].responseStatus"); got != status {
		b.t.Errorf("%s answers %d, want %d: %s", path, got, status, evaluate[string](b, "document.body.innerText"))
	}
	b.wantNoFaults()
}

// faults returns the faults of the page. It first waits for a frame and a timer, because violations are reported by
// later events.
func (b *browser) faults() []string {
	b.t.Helper()
	settled := chromedp.Evaluate[[]string]("new Promise(done => requestAnimationFrame(() => setTimeout(() => done(faults))))", chromedp.EvalAwaitPromise)
	var faults []string
	eventually(b.t, "the page has settled", func() bool {
		// This fails if a click replaces the page meanwhile.
		found, err := chromedp.Run(b.ctx, settled)
		faults = found
		return err == nil
	})
	return faults
}

func (b *browser) wantNoFaults() {
	b.t.Helper()
	if faults := b.faults(); len(faults) > 0 {
		b.t.Errorf("%s: %q", evaluate[string](b, "location.pathname"), faults)
	}
}

// wantText waits until the page is loaded and has a text.
func (b *browser) wantText(text string) {
	b.t.Helper()
	wantOnPage(b, "the page has the text "+text, "document.readyState === 'complete' ? document.body.innerText : ''",
		func(found string) bool { return strings.Contains(found, text) })
}

// wantOnPage waits until the value of an expression is as wanted. It tries again after an error, because the page may
// be replaced while the expression is evaluated.
func wantOnPage[T any](b *browser, what, expression string, isWanted func(T) bool) {
	b.t.Helper()
	eventually(b.t, what, func() bool {
		value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
		return err == nil && isWanted(value)
	})
}

// signIn signs in with the keyboard.
func (b *browser) signIn(key, next string) {
	b.t.Helper()
	b.open(http.StatusOK, next)
	b.wantText("Sign in")
	b.do(chromedp.KeyEvent(key), chromedp.KeyEvent("\r"))
	wantOnPage(b, "the user is signed in", "location.pathname", func(path string) bool { return path != "/signin" })
}

// wantAccessible checks with axe-core that the page has no moderate or worse violations of accessibility rules.
func (b *browser) wantAccessible() {
	b.t.Helper()
	axe, err := os.ReadFile(os.Getenv("ATTESTRY_TEST_AXE"))
	b.must(err)
	evaluate[bool](b, string(axe)+";true")
	found := evaluate[[]string](b, `axe.run().then(r => r.violations
		.filter(v => ['serious', 'critical', 'moderate'].includes(v.impact))
		.flatMap(v => v.nodes.map(n => v.id + ': ' + n.target + ' ' + n.failureSummary)))`)
	if len(found) > 0 {
		b.t.Errorf("%s:\n%s", evaluate[string](b, "location.pathname"), strings.Join(found, "\n"))
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

// wantGoodLooks checks in all looks that the page is not wider than the window and, on screens, that it is accessible.
// It writes screenshots to the folder ATTESTRY_TEST_SCREENSHOTS, if that is set.
func (b *browser) wantGoodLooks(name string) {
	b.t.Helper()
	for _, as := range looks {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: as.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: as.scheme}},
		})
		b.must(err)
		b.do(chromedp.EmulateViewport(as.width, 900))
		if over := evaluate[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
			b.t.Errorf("%s is %d pixels too wide for %d", name, over, as.width)
		}
		if as.media == "screen" {
			b.wantAccessible()
		}
		b.screenshot(name + "-" + as.name)
	}
}

func (b *browser) screenshot(name string) {
	b.t.Helper()
	folder := os.Getenv("ATTESTRY_TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	content, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	b.must(err)
	b.must(os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s.png", name)), content, 0o600))
}
