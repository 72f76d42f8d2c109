package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// deliverRed plays a delivery that its environment's policy is not content with, and returns the
// fingerprint of what runs.
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
	s := start(t, options{real: true})
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
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Click("main article h3 a"))
	b.wantText(fingerprint[:12])
	b.do(chromedp.Navigate(b.URL + "/" + s.org + "/flows/build/trails/1.0"))
	b.wantText("check")
	b.do(chromedp.Navigate(b.URL + "/" + s.org + "/flows/build/trails/1.0/package"))
	b.wantText("SHA-256")
}

func TestAllPagesCanBeUsedByEverybody(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true})
	fingerprint := s.deliverRed()
	s.want(http.StatusCreated, http.MethodPost, "/controls/"+s.org, []byte(`{"identifier":"RELEASE","name":"Releases are agreed"}`))
	b := s.browser()
	b.signIn(adminKey, "/"+s.org)
	root := "/" + s.org
	for name, path := range map[string]string{
		"flows": root + "/flows", "flow": root + "/flows/build", "trail": root + "/flows/build/trails/1.0",
		"package": root + "/flows/build/trails/1.0/package", "artifact": root + "/flows/build/artifacts/" + fingerprint,
		"events": root + "/environments/production/events", "diff": root + "/environments/production/diff?from=1&to=1",
		"policies": root + "/policies", "policy": root + "/policies/releases", "evaluate": root + "/policies/releases/evaluate",
		"controls": root + "/controls", "control": root + "/controls/RELEASE", "deployments": root + "/deployments",
		"search": root + "/search?q=web", "members": root + "/members", "unknown": root + "/flows/unknown", "signout": "/signout",
	} {
		b.open(path)
		if name == "package" {
			b.wantText("SHA-256") // the page is loaded again when the package is ready
		}
		b.wantGoodLooks(name)
	}
}

func TestPagesAreUsedByTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true})
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
	eventually(t, "the search is shown", func() bool { return evaluate[string](b, "location.pathname") == "/"+s.org+"/search" })
	b.wantText("production")
}
