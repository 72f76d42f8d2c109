package web

import (
	"bytes"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// sendFile sends the form of a dry run.
func (g *governanceSite) sendFile(t *testing.T, token, environment string) (*http.Response, string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range map[string]string{"csrf": token, "environment": environment} {
		if err := form.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	file, err := form.CreateFormFile("policy_file", "<script>alert(1)</script>")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte("the file")); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/acme/policies/p1/evaluate", &body)
	request.Header.Set("Content-Type", form.FormDataContentType())
	return g.send(t, request)
}

// askForToken opens the form, and keeps its cookies.
func (g *governanceSite) askForToken(t *testing.T) string {
	t.Helper()
	answer, shown := g.open(t, "/acme/policies/p1/evaluate")
	g.cookies = append(g.cookies, answer.Cookies()...)
	found := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(shown)
	if found == nil {
		t.Fatalf("the form has no token: %s", shown)
	}
	return found[1]
}

func TestDryRunAsksTheAPI(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{
		"/policies/acme/p1": withHostile(hostilePolicy),
		"/policies/acme/evaluate": withHostile(`{"environment": "prod", "artifacts": [
			{"name": "%[1]s", "fingerprint": "aa", "compliant_now": true, "compliant_then": false, "change": "became-non-compliant", "explanation": [{"text": "%[2]s", "remedy": "%[3]s"}]},
			{"name": "hidden", "fingerprint": "bb", "compliant_now": true, "compliant_then": true, "change": "unchanged", "explanation": []}]}`),
	})
	answer, shown := site.sendFile(t, site.askForToken(t), "prod")
	checkHarmless(t, shown)
	if answer.StatusCode != http.StatusOK || !strings.Contains(shown, "1 artifact would become not compliant, 0 would become compliant, 1 would stay") || strings.Contains(shown, "hidden</bdi>") {
		t.Errorf("answered %d: %s", answer.StatusCode, shown)
	}
	query := site.asked[len(site.asked)-1]
	_, parameters, err := mime.ParseMediaType(query.ContentType)
	if err != nil {
		t.Fatal(err)
	}
	form, err := multipart.NewReader(bytes.NewReader(query.Body), parameters["boundary"]).ReadForm(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if got := form.Value["payload"]; query.Principal.Name != "ada" || len(got) != 1 || got[0] != `{"environment_name":"prod","policy_name":"p1"}` || form.File["policy_file"][0].Size != 8 {
		t.Errorf("%s asked %v", query.Principal.Name, form)
	}
}

func TestDryRunTellsWhatIsWrongWithAFile(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{
		"/policies/acme/p1":       withHostile(hostilePolicy),
		"/policies/acme/evaluate": {status: http.StatusBadRequest, body: `{"message": "Input payload validation failed", "errors": {"policy_file": "<script>alert(1)"}}`},
	})
	answer, shown := site.sendFile(t, site.askForToken(t), "prod")
	checkHarmless(t, shown)
	if answer.StatusCode != http.StatusBadRequest || !strings.Contains(shown, "policy_file: &lt;script&gt;") {
		t.Errorf("answered %d: %s", answer.StatusCode, shown)
	}
}

func TestDryRunWithoutATokenIsRefused(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{"/policies/acme/p1": withHostile(hostilePolicy)})
	site.askForToken(t)
	asked := len(site.asked)
	for _, token := range []string{"", "wrong"} {
		answer, _ := site.sendFile(t, token, "prod")
		if answer.StatusCode != http.StatusForbidden || len(site.asked) > asked {
			t.Errorf("answered %d", answer.StatusCode)
		}
	}
}

func TestDryRunNeedsASession(t *testing.T) {
	site := newGovernanceSite(t, nil)
	site.cookies = nil
	if answer, _ := site.open(t, "/acme/policies/p1/evaluate"); answer.StatusCode != http.StatusSeeOther || len(site.asked) > 0 {
		t.Errorf("answered %d", answer.StatusCode)
	}
}

func TestDryRunNeedsAFile(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{"/policies/acme/p1": withHostile(hostilePolicy)})
	form := url.Values{"csrf": {site.askForToken(t)}, "environment": {"prod"}}
	request := httptest.NewRequest(http.MethodPost, "/acme/policies/p1/evaluate", strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, shown := site.send(t, request)
	if answer.StatusCode != http.StatusBadRequest || !strings.Contains(shown, "Please choose a file.") {
		t.Errorf("answered %d: %s", answer.StatusCode, shown)
	}
}
