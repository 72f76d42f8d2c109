package organizations_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
)

// targetsBody returns the body of an action with targets, a JSON array.
func targetsBody(targets string) string {
	return `{"name":"a","targets":` + targets + `,"environments":[],"triggers":[]}`
}

// TestInvalidActionsAreRefused sends invalid bodies to both addresses of environment actions. If a body fits the
// schema, the message of the second address is another.
func TestInvalidActionsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("old", evidence.Server)
	s.ArchiveEnvironment("old")
	list := func(n int, item string) string {
		return "[" + strings.Join(slices.Repeat([]string{item}, n), ",") + "]"
	}
	const noURL, noMailbox = "Input should be an http or https URL with a host", "Input should be an e-mail address without a display name"
	missing := func(name string) string {
		return "Environment named '" + name + "' does not exist for organization '" + s.Org + "' [input: " + name + "]"
	}
	type testCase struct {
		body, field, text string
		fitsSchema        bool
	}
	apitest.Each(s, map[string]testCase{
		"unknown environment":  {apitest.EnvActionBody("a", apitest.DeadTarget, "prod", "nowhere"), "environments[1]", missing("nowhere"), true},
		"archived environment": {apitest.EnvActionBody("a", apitest.DeadTarget, "old"), "environments[0]", missing("old"), true},
		"empty environment":    {apitest.EnvActionBody("a", apitest.DeadTarget, ""), "environments[0]", missing(""), true},
		"empty targets":        {targetsBody(`[]`), "targets", "List should have at least 1 item after validation, not 0", false},

		"empty target":            {targetsBody(`[` + apitest.DeadTarget + `,{}]`), "targets[1].webhook", "Field required", true},
		"null type":               {targetsBody(`[{"type":null}]`), "targets[0].webhook", "Field required", true},
		"unknown type":            {targetsBody(`[{"type":"PAGER"}]`), "targets[0].type", "Input should be 'SLACK', 'WEBHOOK' or 'EMAIL' [input: PAGER]", true},
		"lower case type":         {targetsBody(`[{"type":"webhook","webhook":"http://example.com"}]`), "targets[0].type", "Input should be 'SLACK', 'WEBHOOK' or 'EMAIL'", true},
		"numeric type":            {targetsBody(`[{"type":1}]`), "targets[0].type", "Input should be 'SLACK', 'WEBHOOK' or 'EMAIL' [input: 1]", true},
		"webhook without address": {targetsBody(`[{"type":"WEBHOOK"}]`), "targets[0].webhook", "Field required", true},
		"an empty address":        {targetsBody(`[{"type":"WEBHOOK","webhook":""}]`), "targets[0].webhook", "Input should be a valid URL, input is empty", true},
		"a script":                {targetsBody(`[{"type":"WEBHOOK","webhook":"javascript:alert(1)"}]`), "targets[0].webhook", "URL scheme should be", true},
		"a file":                  {targetsBody(`[{"type":"SLACK","webhook":"file:///etc/passwd"}]`), "targets[0].webhook", "URL scheme should be", true},
		"an address without host": {targetsBody(`[{"type":"WEBHOOK","webhook":"https:///path"}]`), "targets[0].webhook", noURL + " [input: https:///path]", true},
		"a port without host":     {targetsBody(`[{"type":"WEBHOOK","webhook":"http://:80/"}]`), "targets[0].webhook", noURL, true},
		"an opaque address":       {targetsBody(`[{"type":"WEBHOOK","webhook":"http:example.com"}]`), "targets[0].webhook", noURL, true},
		"a port out of range":     {targetsBody(`[{"type":"WEBHOOK","webhook":"http://example.com:65536/"}]`), "targets[0].webhook", noURL, true},
		"a relative address":      {targetsBody(`[{"type":"WEBHOOK","webhook":"example.com/hook"}]`), "targets[0].webhook", "Input should be a valid URL, relative URL without a base", true},
		"a newline":               {targetsBody(`[{"type":"WEBHOOK","webhook":"http://example.com/\r\nHost: x"}]`), "targets[0].webhook", "Input should be a valid URL", true},
		"another version":         {targetsBody(`[{"type":"WEBHOOK","webhook":"http://example.com","payload_version":"2.0"}]`), "targets[0].payload_version", "Input should be '1.0' [input: 2.0]", true},
		"half a context":          {targetsBody(`[{"type":"SLACK","webhook":"http://example.com","context":{"channel_id":"C","team_id":"T"}}]`), "targets[0].context.channel_name", "Field required", true},
		"an invalid e-mail":       {targetsBody(`[{"type":"EMAIL","emails":["a@example.com","nobody"]}]`), "targets[0].emails[1]", noMailbox + " [input: nobody]", true},
		"an e-mail with a name":   {targetsBody(`[{"type":"EMAIL","emails":["Ann <ann@example.com>"]}]`), "targets[0].emails[0]", noMailbox, true},
		"an e-mail in brackets":   {targetsBody(`[{"type":"EMAIL","emails":["<ann@example.com>"]}]`), "targets[0].emails[0]", noMailbox, true},
		"two e-mails in one":      {targetsBody(`[{"type":"EMAIL","emails":["a@example.com,b@example.com"]}]`), "targets[0].emails[0]", noMailbox, true},
		"an e-mail with CRLF":     {targetsBody(`[{"type":"EMAIL","emails":["a@example.com\r\nBcc: b@example.com"]}]`), "targets[0].emails[0]", noMailbox, true},
		"an e-mail and a newline": {targetsBody(`[{"type":"EMAIL","emails":["a@example.com\n"]}]`), "targets[0].emails[0]", noMailbox, true},
		"too many addresses":      {targetsBody(list(2001, apitest.DeadTarget)), "targets", "The actions of an organization have at most 2000 webhooks and e-mail addresses in all [input: 2001]", true},
	}, func(s *apitest.Service, _ string, c testCase) {
		for path, message := range map[string]string{s.OrgActionsPath() + "/environments": "Input payload validation failed",
			notificationsPath(s): "Invalid notification payload"} {
			if !c.fitsSchema {
				message = "Input payload validation failed"
			}
			got := s.Do(http.MethodPut, "/api/v2"+path, apitest.MemberKey, []byte(c.body))
			gotMessage, errors := got.Problem(s.T)
			if got.Status != http.StatusBadRequest || gotMessage != message || !strings.HasPrefix(errors[c.field], c.text) {
				s.T.Errorf("%s: %d %q %q", path, got.Status, gotMessage, errors)
			}
		}
	})
	if listed := s.Read(s.OrgActionsPath()).([]any); len(listed) != 0 {
		t.Errorf("stored %v", listed)
	}
}

func TestAllErrorsOfAnActionAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	body := `{"name":"a","targets":[{"type":"EMAIL","emails":["x","y"]},{"type":"SLACK","webhook":"ftp://x"}],"flows":["f","g"],"triggers":[]}`
	got := s.Do(http.MethodPut, "/api/v2"+s.OrgActionsPath()+"/flows", apitest.MemberKey, []byte(body))
	const noMailbox = "Input should be an e-mail address without a display name"
	missing := func(name string) string {
		return fmt.Sprintf("Flow named '%s' does not exist for organization '%s' [input: %s]", name, s.Org, name)
	}
	apitest.WantProblem(t, got, http.StatusBadRequest, "Input payload validation failed", map[string]string{
		"targets[0].emails[0]": noMailbox + " [input: x]", "targets[0].emails[1]": noMailbox + " [input: y]",
		"targets[1].webhook": "URL scheme should be 'http' or 'https' [input: ftp://x]", "flows[0]": missing("f"), "flows[1]": missing("g"),
	})
}

func TestTargetsWithoutTypeHaveTheTypeOfTheirMembers(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.PutAction(http.StatusCreated, "environments", targetsBody(`[{"webhook":"http://127.0.0.1:1"},{"type":null,"emails":["a@example.com"]},
		{"webhook":"http://127.0.0.1:1","context":{"channel_id":"C","channel_name":"c","team_id":"T"}}]`))
	targets := apitest.Lookup(t, s.Read(s.OrgActionsPath()).([]any)[0], "targets").([]any)
	for i, want := range []string{"WEBHOOK", "EMAIL", "SLACK"} {
		apitest.Equal[any](t, apitest.Lookup(t, targets[i], "type"), want, i)
	}
}

func TestInvalidActionNumbersAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, number := range []string{"x", "1.5", "99999999999999999999"} {
		for _, path := range []string{s.OrgActionsPath() + "/" + number, notificationsPath(s) + "/" + number} {
			apitest.WantAnswer(t, s.Do(http.MethodGet, "/api/v2"+path, apitest.ReaderKey, nil), http.StatusBadRequest)
		}
	}
}
