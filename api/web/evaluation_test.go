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

	"attestry/api/jsonstream"
)

const evaluatePath = "/acme/policies/p1/evaluate"

// ownPage is the header of a request from a page of this site.
var ownPage = http.Header{"Origin": {"http://localhost"}}

// sendFile sends the form of a dry run.
func (f *fakeAPI) sendFile(t *testing.T, header http.Header) shownPage {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("environment", "former"); err != nil {
		t.Fatal(err)
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
	request.Header = header.Clone()
	request.Header.Set("Content-Type", form.FormDataContentType())
	return f.send(t, request)
}

func TestDryRunSendsTheFileToTheAPI(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{
		"GET /policies/acme/p1":         withHostile(hostilePolicy),
		"GET /environments/acme/former": canned(`{"name": "prod"}`),
		"POST /policies/acme/evaluate": withHostile(`{"environment": "prod", "artifacts": [
			{"name": "%[1]s", "fingerprint": "aa", "compliant_now": true, "compliant_then": false, "change": "became-non-compliant", "explanation": [{"text": "%[2]s", "remedy": "%[3]s"}]},
			{"name": "hidden", "fingerprint": "bb", "compliant_now": true, "compliant_then": true, "change": "unchanged", "explanation": []}]}`),
	})
	shown := api.sendFile(t, ownPage)
	shown.has(t, escapedScript, "1 artifact would become not compliant, 0 would become compliant, 1 would stay")
	shown.lacks(t, "hidden</bdi>")
	query := api.queries[len(api.queries)-1]
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

func TestDryRunShowsFaultsOfTheFile(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{
		"GET /policies/acme/p1":         withHostile(hostilePolicy),
		"GET /environments/acme/former": canned(`{"name": "prod"}`),
		"POST /policies/acme/evaluate":  refused(http.StatusBadRequest, `{"message": "Input payload validation failed", "errors": {"policy_file": "<script>alert(1)"}}`),
	})
	api.sendFile(t, ownPage).answers(t, http.StatusBadRequest, "policy_file: "+escapedScript)
}

func TestDryRunOfAnUnknownEnvironmentShowsTheErrorOfTheOperation(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{
		"GET /policies/acme/p1":         withHostile(hostilePolicy),
		"GET /environments/acme/former": refused(http.StatusNotFound, `{"message": "of the environment"}`),
		"POST /policies/acme/evaluate":  refused(http.StatusNotFound, `{"message": "of the operation"}`),
	})
	api.sendFile(t, ownPage).answers(t, http.StatusNotFound, "of the operation", "policy_file")
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /policies/acme/p1": withHostile(hostilePolicy)})
	for _, header := range []http.Header{
		{},
		{"Origin": {"null"}},
		{"Origin": {"http://localhost.example.com"}},
		{"Origin": {"https://localhost"}},
		{"Origin": {"http://localhost:8080"}},
		{"Origin": {"http://localhost"}, "Sec-Fetch-Site": {"cross-site"}},
		{"Origin": {"http://localhost"}, "Sec-Fetch-Site": {"same-site"}},
		{"Referer": {"http://localhost/acme"}},
	} {
		api.sendFile(t, header).answers(t, http.StatusForbidden, "http://localhost")
	}
	if len(api.queries) > 0 {
		t.Errorf("asked %v", api.queries)
	}
	for _, header := range []http.Header{
		ownPage,
		{"Sec-Fetch-Site": {"same-origin"}},
		{"Sec-Fetch-Site": {"none"}, "Origin": {"null"}},
	} {
		if got := api.sendFile(t, header); got.status == http.StatusForbidden {
			t.Errorf("%v is refused: %s", header, got.text)
		}
	}
}

func TestDryRunNeedsAFile(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /policies/acme/p1": withHostile(hostilePolicy)})
	form := url.Values{"environment": {"prod"}}
	request := httptest.NewRequest(http.MethodPost, evaluatePath, strings.NewReader(form.Encode()))
	request.Header = ownPage.Clone()
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	api.send(t, request).answers(t, http.StatusBadRequest, "Please choose a file.")
}

func TestEvaluationCountsArtifactsThatTheAnswerOmits(t *testing.T) {
	var e evaluation
	err := e.decode(jsonstream.NewDecoder(strings.NewReader(`{"artifacts": [{"name": "a", "change": "became-non-compliant", "explanation": [{"text": "x"}], "explanation_left_out": 7}],
		"artifacts_left_out": {"became-non-compliant": 3, "became-compliant": 2, "unchanged": 1}}`)))
	if err != nil || e.Changes["became-non-compliant"] != 4 || e.Changes["became-compliant"] != 2 || e.Changes["unchanged"] != 1 || len(e.Shown) != 1 || e.Shown[0].LeftOut != 7 {
		t.Errorf("got %+v %v", e, err)
	}
}
