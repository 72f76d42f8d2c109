package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// deliverRed reports a release that violates the policy of its environment, and returns the fingerprint of the running
// artifact.
func (s *service) deliverRed() string {
	s.t.Helper()
	fingerprint, _ := s.deliverRelease("1.0")
	s.putPolicy(http.StatusCreated, `{"name":"releases"}`, policyFile(policyHead+"artifacts:\n  provenance: {required: true}\n  attestations:\n    - {name: approved-by-security, type: generic}\n"))
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath(), []byte(`{"name":"production","type":"server","description":"What customers use","policies":["releases"]}`))
	s.report(http.StatusCreated, "production", "server", fmt.Sprintf(`{"type":"server","artifacts":[{"digests":{"/opt/web":%q},"creationTimestamp":1788990000}]}`, fingerprint))
	return fingerprint
}

func TestPeopleFindOutWhyAnEnvironmentIsRed(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	fingerprint := s.deliverRed()
	b := s.browser()
	b.signIn(readerKey, "/"+s.org)
	b.wantText("production")
	b.wantText("1 not compliant")
	b.wantGoodLooks("organization")
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Click("main h2 a"))
	b.wantText("What is wrong")
	b.wantText("approved-by-security")
	b.wantGoodLooks("environment")
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Click("main details.card li a"))
	b.wantText(fingerprint[:12])
	b.open(http.StatusOK, "/"+s.org+"/flows/build/trails/1.0")
	b.wantText("check")
	b.open(http.StatusOK, "/"+s.org+"/flows/build/trails/1.0/package")
	b.wantText("SHA-256")
}

// minute returns the time some minutes from now in the format of browsers.
func minute(from time.Duration) string {
	return time.Now().UTC().Add(from * time.Minute).Format("2006-01-02T15:04")
}

func TestAllPagesCanBeUsedByEverybody(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	fingerprint := s.deliverRed()
	s.want(http.StatusCreated, http.MethodPost, "/controls/"+s.org, []byte(`{"identifier":"RELEASE","name":"Releases are agreed"}`))
	s.report(http.StatusCreated, "production", "server", fmt.Sprintf(
		`{"type":"server","artifacts":[{"digests":{"/opt/web":%q},"creationTimestamp":1788990000},{"digests":{"/opt/other":%q},"creationTimestamp":1788990000}]}`,
		fingerprint, digestOf("other")))
	_, invitation := s.invite(`{"role":"member","description":"Grace, of the platform team"}`)
	s.createAudit(`"production"`, time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour))
	b := s.browser()
	b.open(http.StatusOK, "/signin")
	b.wantText("How to get a key")
	b.wantGoodLooks("signin")
	b.signIn(adminKey, "/"+s.org)
	root := "/" + s.org
	for name, page := range map[string]struct{ path, text string }{
		"organizations": {"/-/organizations", "acme-"},
		"flows":         {root + "/flows", "1 in all"},
		"flow":          {root + "/flows/build", "What trails need"},
		"trail":         {root + "/flows/build/trails/1.0", "of-the-trail"},
		"package":       {root + "/flows/build/trails/1.0/package", "SHA-256"}, // the page is loaded again when the package is ready
		"artifact":      {root + "/flows/build/artifacts/" + fingerprint, "approved-by-security"},
		"events":        {root + "/environments/production/events", "/opt/web"},
		"diff":          {root + "/environments/production/diff?from=1&to=2", "1 artifact changed, 1 did not"},
		"timeline":      {root + "/environments/production/timeline?from=" + minute(-10) + "&to=" + minute(1), "The same in words"},
		"policies":      {root + "/policies", "releases"},
		"policy":        {root + "/policies/releases", "approved-by-security"},
		"evaluate":      {root + "/policies/releases/evaluate", "Nothing is stored"},
		"controls":      {root + "/controls", "Releases are agreed"},
		"control":       {root + "/controls/RELEASE", "Releases are agreed"},
		"deployments":   {root + "/deployments", "/opt/web"},
		"audits":        {root + "/audits", "q3"},
		"audit":         {root + "/audits/q3", "No pull request"},
		"sample":        {root + "/audits/q3?size=2&seed=4711", "rank"},
		"totals":        {root + "/audits/q3?show=totals", "Change failure rate"},
		"requirements":  {root + "/audits/q3?show=requirements&framework=soc2", "CC8.1"},
		"search":        {root + "/search?q=" + fingerprint[:12], "production"},
		"found":         {root + "/search?q=e&since=2026-01-01", "name: "},
		"audit-log":     {root + "/settings/audit-log?event_type=added&from_timestamp=2026-01-01T00:00", "Download as CSV"},
		"log":           {root + "/log", "Transparency log"},
		"invitations":   {root + "/settings/invitations", "Grace"},
		"invitation":    {"/-/invitations/" + s.org + "/" + invitation, "Join as"},
		"members":       {root + "/members", "administrator"},
		"settings":      {root + "/settings", "Service accounts"},
		"area":          {root + "/settings/environments", "production"},
		"form":          {root + "/settings/environments/put_admission_settings?env_name=production", "Exempt namespaces"},
		"choices":       {root + "/settings/actions/create_or_update_env_action", "ON_NON_COMPLIANT_ENV"},
		"signout":       {"/signout", "sign in again"},
	} {
		b.open(http.StatusOK, page.path)
		b.wantText(page.text)
		b.wantGoodLooks(name)
	}
	b.open(http.StatusNotFound, root+"/flows/unknown")
	b.wantText("does not exist")
	b.wantGoodLooks("unknown")
}

func TestShortcutsMoveThroughPages(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.deliverRed()
	b := s.browser()
	b.signIn(readerKey, "/"+s.org+"/environments/production")
	b.wantText("What is wrong")
	focused := func() string {
		return evaluate[string](b, "document.activeElement.closest('details, tr')?.innerText.trim().split(/\\s+/)[0] ?? ''")
	}
	b.do(chromedp.KeyEvent("j"))
	if got := focused(); got != "1" { // 1 artifact: the first cause
		t.Errorf("j leads to %q", got)
	}
	b.do(chromedp.KeyEvent("j"))
	if got := focused(); got != "/opt/web" {
		t.Errorf("j leads on to %q", got)
	}
	b.do(chromedp.KeyEvent("k"))
	if got := focused(); got != "1" {
		t.Errorf("k leads back to %q", got)
	}
	b.do(chromedp.KeyEvent("?"))
	b.wantText("next or previous row")
	b.do(chromedp.KeyEvent(kb.Escape))
	wantOnPage(b, "the list of keys is closed", "!document.querySelector('dialog')", func(closed bool) bool { return closed })
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("f"))
	b.wantText("1 in all") // flow
	// Text that is typed into a field is no shortcut. chromedp types a character even if the page has handled its key.
	b.do(chromedp.KeyEvent("/"), chromedp.KeyEvent("g"), chromedp.KeyEvent("e"))
	if got := evaluate[string](b, "document.getElementById('search').value + location.pathname"); got != "/ge/"+s.org+"/flows" {
		t.Errorf("typing leads to %q", got)
	}
}

func TestPagesAreUsedByTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.deliverRed()
	s.reportServer("production", "another")
	b := s.browser()
	b.signIn(readerKey, "/"+s.org+"/environments/production")
	b.wantText("snapshot 2, the latest")
	b.do(chromedp.KeyEvent(kb.ArrowLeft))
	b.wantText("snapshot 1")
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.wantText("snapshot 2")
	b.do(chromedp.KeyEvent("/"), chromedp.KeyEvent("production"))
	b.do(chromedp.KeyEvent("\r"))
	wantOnPage(b, "the search is shown", "location.pathname", func(path string) bool { return path == "/"+s.org+"/search" })
	b.wantText("production")
}
