package web_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
)

// deliverRed reports a release that violates the policy of its environment, and returns the fingerprint of the running
// artifact.
func deliverRed(s *apitest.Service) string {
	s.T.Helper()
	fingerprint, _ := s.DeliverRelease("1.0")
	s.PutPolicy(http.StatusCreated, `{"name":"releases"}`, apitest.PolicyFile(apitest.PolicyHead+"artifacts:\n  provenance: {required: true}\n  attestations:\n    - {name: approved-by-security, type: generic}\n"))
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath(), []byte(`{"name":"production","type":"server","description":"What customers use","policies":["releases"]}`))
	s.Report(http.StatusCreated, "production", "server", fmt.Sprintf(`{"type":"server","artifacts":[{"digests":{"/opt/web":%q},"creationTimestamp":1788990000}]}`, fingerprint))
	return fingerprint
}

func TestPeopleFindOutWhyAnEnvironmentIsRed(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	fingerprint := deliverRed(s)
	b := webclient.NewBrowser(s)
	b.SignIn(apitest.ReaderKey, "/"+s.Org)
	b.WantText("production")
	b.WantText("1 not compliant")
	b.WantGoodLooks("organization")
	b.Do(chromedp.EmulateViewport(1280, 900), chromedp.Click("main h2 a"))
	b.WantText("What is wrong")
	b.WantText("approved-by-security")
	b.WantGoodLooks("environment")
	b.Do(chromedp.EmulateViewport(1280, 900), chromedp.Click("main details.card li a"))
	b.WantText(fingerprint[:12])
	b.Open(http.StatusOK, "/"+s.Org+"/flows/build/trails/1.0")
	b.WantText("check")
	b.Open(http.StatusOK, "/"+s.Org+"/flows/build/trails/1.0/package")
	b.WantText("SHA-256")
}

// minute returns the time some minutes from now in the format of browsers.
func minute(from time.Duration) string {
	return time.Now().UTC().Add(from * time.Minute).Format("2006-01-02T15:04")
}

func TestAllPagesCanBeUsedByEverybody(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	fingerprint := deliverRed(s)
	s.Want(http.StatusCreated, http.MethodPost, "/controls/"+s.Org, []byte(`{"identifier":"RELEASE","name":"Releases are agreed"}`))
	s.Report(http.StatusCreated, "production", "server", fmt.Sprintf(
		`{"type":"server","artifacts":[{"digests":{"/opt/web":%q},"creationTimestamp":1788990000},{"digests":{"/opt/other":%q},"creationTimestamp":1788990000}]}`,
		fingerprint, apitest.DigestOf("other")))
	_, invitation := s.Invite(`{"role":"member","description":"Grace, of the platform team"}`)
	s.CreateAudit(`"production"`, time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour))
	b := webclient.NewBrowser(s)
	b.Open(http.StatusOK, "/signin")
	b.WantText("How to get a key")
	b.WantGoodLooks("signin")
	b.SignIn(apitest.AdminKey, "/"+s.Org)
	root := "/" + s.Org
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
		"invitation":    {"/-/invitations/" + s.Org + "/" + invitation, "Join as"},
		"members":       {root + "/members", "administrator"},
		"settings":      {root + "/settings", "Service accounts"},
		"area":          {root + "/settings/environments", "production"},
		"form":          {root + "/settings/environments/put_admission_settings?env_name=production", "Exempt namespaces"},
		"choices":       {root + "/settings/actions/create_or_update_env_action", "ON_NON_COMPLIANT_ENV"},
		"signout":       {"/signout", "sign in again"},
	} {
		b.Open(http.StatusOK, page.path)
		b.WantText(page.text)
		b.WantGoodLooks(name)
	}
	b.Open(http.StatusNotFound, root+"/flows/unknown")
	b.WantText("does not exist")
	b.WantGoodLooks("unknown")
}

func TestShortcutsMoveThroughPages(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	deliverRed(s)
	b := webclient.NewBrowser(s)
	b.SignIn(apitest.ReaderKey, "/"+s.Org+"/environments/production")
	b.WantText("What is wrong")
	focused := func() string {
		return webclient.Evaluate[string](b, "document.activeElement.closest('details, tr')?.innerText.trim().split(/\\s+/)[0] ?? ''")
	}
	b.Do(chromedp.KeyEvent("j"))
	apitest.Equal(t, focused(), "1", "j leads to")
	b.Do(chromedp.KeyEvent("j"))
	apitest.Equal(t, focused(), "/opt/web", "j leads on to")
	b.Do(chromedp.KeyEvent("k"))
	apitest.Equal(t, focused(), "1", "k leads back to")
	b.Do(chromedp.KeyEvent("?"))
	b.WantText("next or previous row")
	b.Do(chromedp.KeyEvent(kb.Escape))
	webclient.WantOnPage(b, "the list of keys is closed", "!document.querySelector('dialog')", func(closed bool) bool { return closed })
	b.Do(chromedp.KeyEvent("g"), chromedp.KeyEvent("f"))
	b.WantText("1 in all") // flow
	// Text that is typed into a field is no shortcut. chromedp types a character even if the page has handled its key.
	b.Do(chromedp.KeyEvent("/"), chromedp.KeyEvent("g"), chromedp.KeyEvent("e"))
	apitest.Equal(t, webclient.Evaluate[string](b, "document.getElementById('search').value + location.pathname"),
		"/ge/"+s.Org+"/flows", "typing leads to")
}

func TestPagesAreUsedByTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	deliverRed(s)
	s.ReportServer("production", "another")
	b := webclient.NewBrowser(s)
	b.SignIn(apitest.ReaderKey, "/"+s.Org+"/environments/production")
	b.WantText("snapshot 2, the latest")
	b.Do(chromedp.KeyEvent(kb.ArrowLeft))
	b.WantText("snapshot 1")
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	b.WantText("snapshot 2")
	b.Do(chromedp.KeyEvent("/"), chromedp.KeyEvent("production"))
	b.Do(chromedp.KeyEvent("\r"))
	webclient.WantOnPage(b, "the search is shown", "location.pathname", func(path string) bool { return path == "/"+s.Org+"/search" })
	b.WantText("production")
}
