package web_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
)

// TestNewUsersFindTheirWay does the first tasks of new users, by clicks from the home page.
func TestNewUsersFindTheirWay(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	fingerprint := deliverRed(s)
	s.Want(http.StatusCreated, http.MethodPost, "/approvals/"+s.Org+"/build", fmt.Appendf(nil,
		`{"artifact_fingerprint":%q,"description":"release-2","src_commit_list":[],"approvals":[{"approved_by":"grace","state":"APPROVED","comment":"","approval_url":""}]}`, fingerprint))
	b := webclient.NewBrowser(s)
	home := func() { b.Open(http.StatusOK, "/"+s.Org) }
	b.SignIn(apitest.AdminKey, "/"+s.Org)

	home() // why is production red
	b.Click("production")
	b.WantText("There is no attestation 'approved-by-security' of type generic.")
	b.WantText("Record an attestation 'approved-by-security'")

	home() // who approved release-2
	b.Click("Settings", "Flows", "build")
	b.WantText("release-2")
	b.WantText("grace")

	home() // admit an image for a week
	b.Click("Settings", "Environments", "Change", "Permit an artifact in an environment")
	b.Enter("artifact_fingerprint", apitest.DigestOf("/opt/old"))
	b.Enter("artifact_name", "old")
	b.Enter("description", "until it is replaced")
	week := s.Clock.Read().Add(7 * 24 * time.Hour)
	b.Do(chromedp.SetValue("#field-expires_at", week.UTC().Format("2006-01-02T15:04")))
	b.Click("Send")
	b.WantText("done")
	apitest.Equal[any](t, apitest.Lookup(t, s.Read(s.AllowlistsPath()), 0, "expires_at"),
		float64(week.Truncate(time.Minute).Unix()), "the permission ends")

	home() // give CI access
	b.Click("Settings", "Service accounts", "Create a service account")
	b.Enter("name", "ci")
	b.Click("Send")
	b.Enter("description", "for the pipeline")
	b.Click("Send")
	b.WantText("att_")

	home() // tell the team on chat
	b.Click("Settings", "Notifications", "Create or replace an action that fires on events in environments")
	b.Enter("name", "chat")
	b.Enter("targets", `[{"type":"SLACK","webhook":"https://hooks.slack.com/services/T/B/x"}]`)
	b.Enter("environments", "production")
	b.Do(chromedp.Click(`input[value=ON_NON_COMPLIANT_ENV]`))
	b.Click("Send")
	b.WantText("done")
	b.WantText("ON_NON_COMPLIANT_ENV")
}
