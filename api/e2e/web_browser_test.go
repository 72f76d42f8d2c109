package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
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
	s.deliverRed()
	b := s.browser()
	b.signIn(readerKey, "/"+s.org)
	b.wantText("production")
	b.wantText("1 not compliant")
	b.wantGoodLooks("organization")
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Click("main h2 a"))
	b.wantText("What is wrong")
	b.wantText("approved-by-security")
	b.wantGoodLooks("environment")
}
