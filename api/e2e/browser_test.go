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

// browser is a Chromium that is signed in as somebody.
type browser struct {
	*service
	ctx context.Context
}

// watch collects what a page must not do: run what a client has sent, or load what its policy forbids.
const watch = `window.faults = [];
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
	_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch})
	s.must(err)
	return &browser{service: s, ctx: ctx}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// evaluate is the value of an expression on the page that is open, or of what it promises.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// open opens a page, which must answer a status and do nothing that it must not.
func (b *browser) open(status int, path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.URL + path))
	if got := evaluate[int](b, "performance.getEntriesByType('navigation')[0].responseStatus"); got != status {
		b.t.Errorf("%s answers %d, want %d: %s", path, got, status, evaluate[string](b, "document.body.innerText"))
	}
	b.wantNoFaults()
}

// faults are what the page did that it must not. They wait for what the browser reports late: violations of
// the page's policy are events of their own.
func (b *browser) faults() []string {
	b.t.Helper()
	settled := chromedp.Evaluate[[]string]("new Promise(done => requestAnimationFrame(() => setTimeout(() => done(faults))))", chromedp.EvalAwaitPromise)
	var faults []string
	eventually(b.t, "the page has settled", func() bool {
		// A click may replace the page meanwhile.
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

// wantText waits until the page is there with its script, and has a text.
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

// signIn signs in by the keyboard alone.
func (b *browser) signIn(key, next string) {
	b.t.Helper()
	b.open(http.StatusOK, next)
	b.wantText("Sign in")
	b.do(chromedp.KeyEvent(key), chromedp.KeyEvent("\r"))
	wantOnPage(b, "somebody is signed in", "location.pathname", func(path string) bool { return path != "/signin" })
}

// wantNoBarriers has axe-core look for faults that keep people from using the page.
func (b *browser) wantNoBarriers() {
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

// look is how a page is looked at.
type look struct {
	name   string
	width  int64
	scheme string
	media  string
}

var looks = []look{{"light", 1280, "light", "screen"}, {"dark", 1280, "dark", "screen"}, {"narrow", 390, "light", "screen"}, {"narrow-dark", 390, "dark", "screen"}, {"wide", 2560, "light", "screen"}, {"wide-dark", 2560, "dark", "screen"}, {"printed", 800, "light", "print"}}

// wantGoodLooks looks at the page in all ways: nothing is cut off and nothing keeps people from using it. With
// ATTESTRY_TEST_SCREENSHOTS set, pictures are written to that folder.
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
			b.wantNoBarriers()
		}
		b.picture(name + "-" + as.name)
	}
}

func (b *browser) picture(name string) {
	b.t.Helper()
	folder := os.Getenv("ATTESTRY_TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	content, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	b.must(err)
	b.must(os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s.png", name)), content, 0o600))
}
