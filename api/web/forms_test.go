package web_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/peers"
	"attestry/api/apitest/webclient"
	"attestry/evidence/policy"
	"attestry/storage"
	"attestry/storage/sessions"
)

// fileForm encodes a form with a policy file.
func fileForm(t *testing.T, content []byte) (contentType string, form []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("environment", "production"); err != nil {
		t.Fatal(err)
	}
	file, err := w.CreateFormFile("policy_file", "policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

func TestLargestPolicyFilesAreEvaluatedOnThePage(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deliverRed(s)
	v, path := webclient.SignedIn(s, apitest.ReaderKey), "/"+s.Org+"/policies/releases/evaluate"
	content := []byte(apitest.PolicyHead + "#" + strings.Repeat("x", policy.MaxSize))[:policy.MaxSize]
	kind, form := fileForm(t, content)
	apitest.WantAnswer(t, v.PostForm(path, kind, form, nil), http.StatusOK, "1 would become compliant")
	kind, form = fileForm(t, []byte("_schema: v1\nunknown: ["))
	apitest.WantAnswer(t, v.PostForm(path, kind, form, nil), http.StatusBadRequest, "<h1")
	kind, form = fileForm(t, bytes.Repeat([]byte("x"), 2<<20))
	apitest.WantAnswer(t, v.PostForm(path, kind, form, nil), http.StatusRequestEntityTooLarge, "<h1")
}

func TestCompressedFormsAreNotUnpacked(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	kind, form := fileForm(t, make([]byte, 64<<20))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(form)
	s.Must(err)
	s.Must(w.Close())
	got := webclient.NewVisitor(s).PostForm("/signin", kind, packed.Bytes(), http.Header{"Content-Encoding": {"gzip"}})
	apitest.WantAnswer(t, got, http.StatusUnsupportedMediaType, "The body must not be compressed")
}

func TestFormsAreAcceptedFromTheBaseURLOnly(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, Settings: []string{"ATTESTRY_BASE_URL=https://Evidence.example.com:443"}})
	form := []byte(url.Values{"key": {apitest.ReaderKey}}.Encode())
	for origin, status := range map[string]int{
		"https://evidence.example.com":  http.StatusSeeOther,
		"http://evidence.example.com":   http.StatusForbidden,
		"https://elsewhere.example.com": http.StatusForbidden,
		s.URL:                           http.StatusForbidden,
		"null":                          http.StatusForbidden,
	} {
		// Without X-Forwarded headers: proxies need not send them.
		got := webclient.NewVisitor(s).PostForm("/signin", "application/x-www-form-urlencoded", form, http.Header{"Origin": {origin}})
		if got.Status != status || status == http.StatusForbidden && !strings.Contains(string(got.Body), "not sent from a page of this service") {
			t.Errorf("from %q it answers %d: %.2000s", origin, got.Status, got.Body)
		}
		cookies := got.Header.Values("Set-Cookie")
		if len(cookies) == 0 && status == http.StatusSeeOther {
			t.Errorf("from %q it sets no cookie", origin)
		}
		for _, cookie := range cookies {
			if !strings.HasPrefix(cookie, "__Host-attestry-session=") || !strings.Contains(cookie, "; secure") || !strings.Contains(cookie, "; path=/;") {
				t.Errorf("the cookie is %s", cookie)
			}
		}
	}
}

func TestNothingIsStoredBeforeSomebodySignsIn(t *testing.T) {
	t.Parallel()
	var docs storage.Documents
	i := peers.NewIssuer(t)
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, Settings: i.SignInSettings(), Wrap: func(opened storage.Documents) storage.Documents {
		docs = opened
		return opened
	}})
	stored := func() int {
		t.Helper()
		records, err := docs.List(t.Context(), sessions.Schemas()[0], "", storage.MaxMany, 1<<20)
		s.Must(err)
		return len(records)
	}
	for n := range 500 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/signin", nil)
		s.Must(err)
		request.Header.Set("Cookie", fmt.Sprint("attestry-session=made-up-", n))
		if got := webclient.NewVisitor(s).Send(request); got.Status != http.StatusOK || got.Header.Get("Set-Cookie") != "" {
			t.Fatalf("visitor %d is answered %d with the cookie %q", n, got.Status, got.Header.Get("Set-Cookie"))
		}
	}
	v := webclient.NewVisitor(s)
	v.SendToIssuer(i, "/")
	v.SignIn("key-that-nobody-has", "/")
	v.Open("/" + s.Org)
	apitest.Equal(t, stored(), 0, "sessions are stored")
	v.SignIn(apitest.ReaderKey, "/")
	v.SignIn(apitest.ReaderKey, "/")
	apitest.Equal(t, stored(), 1, "sessions of somebody who has signed in twice are stored")
}

func TestUsersSignInAgainAfterTheirKeyWasRevoked(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	created := s.Do(http.MethodPost, "/api/v2/user/api-keys", apitest.MemberKey, []byte(`{"description":"browser"}`))
	v := webclient.SignedIn(s, apitest.Lookup(t, created.Value(t), "key").(string))
	s.Do(http.MethodDelete, "/api/v2/user/api-keys/"+apitest.Lookup(t, created.Value(t), "id").(string), apitest.MemberKey, nil)
	apitest.WantAnswer(t, v.SignIn(apitest.MemberKey, "/"), http.StatusSeeOther)
}
