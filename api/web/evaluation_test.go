package web

import (
	"bytes"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"attestry/api/web/webtest"
)

const evaluatePath = "/acme/policies/p1/evaluate"

// sendFile sends the form of a dry run.
func (f *fakeAPI) sendFile(t *testing.T, token string) shownPage {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range map[string]string{"csrf": token, "environment": "prod"} {
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
	request := httptest.NewRequest(http.MethodPost, evaluatePath, &body)
	request.Header.Set("Content-Type", form.FormDataContentType())
	return f.send(t, request)
}

// token is that of the form on a page.
func (f *fakeAPI) token(t *testing.T, path string) string {
	t.Helper()
	token, err := webtest.Token([]byte(f.open(t, path).text))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestDryRunAsksTheAPI(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{
		"GET /policies/acme/p1": withHostile(hostilePolicy),
		"POST /policies/acme/evaluate": withHostile(`{"environment": "prod", "artifacts": [
			{"name": "%[1]s", "fingerprint": "aa", "compliant_now": true, "compliant_then": false, "change": "became-non-compliant", "explanation": [{"text": "%[2]s", "remedy": "%[3]s"}]},
			{"name": "hidden", "fingerprint": "bb", "compliant_now": true, "compliant_then": true, "change": "unchanged", "explanation": []}]}`),
	})
	shown := api.sendFile(t, api.token(t, evaluatePath))
	shown.has(t, escapedScript, "1 artifact would become not compliant, 0 would become compliant, 1 would stay")
	shown.lacks(t, "hidden</bdi>")
	query := api.asked[len(api.asked)-1]
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
	api := newFakeAPI(t, cannedAnswers{
		"GET /policies/acme/p1":        withHostile(hostilePolicy),
		"POST /policies/acme/evaluate": refused(http.StatusBadRequest, `{"message": "Input payload validation failed", "errors": {"policy_file": "<script>alert(1)"}}`),
	})
	api.sendFile(t, api.token(t, evaluatePath)).answers(t, http.StatusBadRequest, "policy_file: "+escapedScript)
}

func TestDryRunWithoutATokenIsRefused(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /policies/acme/p1": withHostile(hostilePolicy)})
	api.token(t, evaluatePath)
	asked := len(api.asked)
	for _, token := range []string{"", "wrong"} {
		api.sendFile(t, token).answers(t, http.StatusForbidden)
	}
	if len(api.asked) > asked {
		t.Errorf("asked %v", api.asked[asked:])
	}
}

func TestDryRunNeedsAFile(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /policies/acme/p1": withHostile(hostilePolicy)})
	form := url.Values{"csrf": {api.token(t, evaluatePath)}, "environment": {"prod"}}
	request := httptest.NewRequest(http.MethodPost, evaluatePath, strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	api.send(t, request).answers(t, http.StatusBadRequest, "Please choose a file.")
}
