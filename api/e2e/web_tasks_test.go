package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// click clicks at most 5 links and buttons one after the other, by their texts. The settings are in the header.
func (b *browser) click(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		part := "main"
		if text == "Settings" {
			part = "header"
		}
		b.do(chromedp.Click(chromedp.Search(fmt.Sprintf(`//%s//*[self::a or self::button or self::summary][normalize-space()=%q]`, part, text))))
		b.wantNoFaults()
	}
	if len(texts) > 5 {
		b.t.Errorf("%q are more than 5 clicks", texts)
	}
}

// enter fills in a field of a form.
func (b *browser) enter(field, text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys("#field-"+field, text))
}

// TestNewUsersFindTheirWay does the first tasks of new users, by clicks from the home page.
func TestNewUsersFindTheirWay(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	fingerprint := s.deliverRed()
	s.want(http.StatusCreated, http.MethodPost, "/approvals/"+s.org+"/build", fmt.Appendf(nil,
		`{"artifact_fingerprint":%q,"description":"release-2","src_commit_list":[],"approvals":[{"approved_by":"grace","state":"APPROVED","comment":"","approval_url":""}]}`, fingerprint))
	b := s.browser()
	home := func() { b.open(http.StatusOK, "/"+s.org) }
	b.signIn(adminKey, "/"+s.org)

	home() // why is production red
	b.click("production")
	b.wantText("There is no attestation 'approved-by-security' of type generic.")
	b.wantText("Record an attestation 'approved-by-security'")

	home() // who approved release-2
	b.click("Settings", "Flows", "build")
	b.wantText("release-2")
	b.wantText("grace")

	home() // admit an image for a week
	b.click("Settings", "Environments", "Change", "Permit an artifact in an environment")
	b.enter("artifact_fingerprint", digestOf("/opt/old"))
	b.enter("artifact_name", "old")
	b.enter("description", "until it is replaced")
	week := s.clock.read().Add(7 * 24 * time.Hour)
	b.do(chromedp.SetValue("#field-expires_at", week.UTC().Format("2006-01-02T15:04")))
	b.click("Send")
	b.wantText("done")
	if expires := lookup(t, s.read(s.allowlistsPath()), 0, "expires_at"); expires != float64(week.Truncate(time.Minute).Unix()) {
		t.Errorf("the permission ends at %v", expires)
	}

	home() // give CI access
	b.click("Settings", "Service accounts", "Create a service account")
	b.enter("name", "ci")
	b.click("Send")
	b.enter("description", "for the pipeline")
	b.click("Send")
	b.wantText("att_")

	home() // tell the team on chat
	b.click("Settings", "Notifications", "Create or replace an action that fires on events in environments")
	b.enter("name", "chat")
	b.enter("targets", `[{"type":"SLACK","webhook":"https://hooks.slack.com/services/T/B/x"}]`)
	b.enter("environments", "production")
	b.do(chromedp.Click(`input[value=ON_NON_COMPLIANT_ENV]`))
	b.click("Send")
	b.wantText("done")
	b.wantText("ON_NON_COMPLIANT_ENV")
}
