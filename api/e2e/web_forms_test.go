package e2e_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

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

// postForm posts a form of a content type. Its Origin is the service unless the header has another.
func (v *visitor) postForm(path, contentType string, form []byte, header http.Header) answer {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.URL+path, bytes.NewReader(form))
	v.must(err)
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Origin", v.URL)
	for name := range header {
		request.Header.Set(name, header.Get(name))
	}
	return v.send(request)
}

func TestLargestPolicyFilesAreEvaluatedOnThePage(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deliverRed()
	v, path := s.signedIn(readerKey), "/"+s.org+"/policies/releases/evaluate"
	content := []byte(policyHead + "#" + strings.Repeat("x", policy.MaxSize))[:policy.MaxSize]
	kind, form := fileForm(t, content)
	if got := v.postForm(path, kind, form, nil); got.status != http.StatusOK || !strings.Contains(string(got.body), "1 would become compliant") {
		t.Errorf("the largest file answers %d: %.2000s", got.status, got.body)
	}
	kind, form = fileForm(t, []byte("_schema: v1\nunknown: ["))
	if got := v.postForm(path, kind, form, nil); got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "<h1") {
		t.Errorf("a file that is no policy answers %d: %.2000s", got.status, got.body)
	}
	kind, form = fileForm(t, bytes.Repeat([]byte("x"), 2<<20))
	if got := v.postForm(path, kind, form, nil); got.status != http.StatusRequestEntityTooLarge || !strings.Contains(string(got.body), "<h1") {
		t.Errorf("a form that is too large answers %d: %.2000s", got.status, got.body)
	}
}

func TestCompressedFormsAreNotUnpacked(t *testing.T) {
	t.Parallel()
	s := share(t)
	kind, form := fileForm(t, make([]byte, 64<<20))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(form)
	s.must(err)
	s.must(w.Close())
	got := s.visitor().postForm("/signin", kind, packed.Bytes(), http.Header{"Content-Encoding": {"gzip"}})
	if got.status != http.StatusUnsupportedMediaType || !strings.Contains(string(got.body), "The body must not be compressed") {
		t.Errorf("it answers %d: %.2000s", got.status, got.body)
	}
}

func TestFormsAreAcceptedFromTheBaseURLOnly(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true, settings: []string{"ATTESTRY_BASE_URL=https://Evidence.example.com:443"}})
	form := []byte(url.Values{"key": {readerKey}}.Encode())
	for origin, status := range map[string]int{
		"https://evidence.example.com":  http.StatusSeeOther,
		"http://evidence.example.com":   http.StatusForbidden,
		"https://elsewhere.example.com": http.StatusForbidden,
		s.URL:                           http.StatusForbidden,
		"null":                          http.StatusForbidden,
	} {
		// Without X-Forwarded headers: proxies need not send them.
		got := s.visitor().postForm("/signin", "application/x-www-form-urlencoded", form, http.Header{"Origin": {origin}})
		if got.status != status || status == http.StatusForbidden && !strings.Contains(string(got.body), "not sent from a page of this service") {
			t.Errorf("from %q it answers %d: %.2000s", origin, got.status, got.body)
		}
		cookies := got.header.Values("Set-Cookie")
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
	i := newIssuer(t)
	s := start(t, options{withoutWorker: true, settings: i.signInSettings(), wrap: func(opened storage.Documents) storage.Documents {
		docs = opened
		return opened
	}})
	stored := func() int {
		t.Helper()
		records, err := docs.List(t.Context(), sessions.Schemas()[0], "", storage.MaxMany, 1<<20)
		s.must(err)
		return len(records)
	}
	for n := range 500 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/signin", nil)
		s.must(err)
		request.Header.Set("Cookie", fmt.Sprint("attestry-session=made-up-", n))
		if got := s.visitor().send(request); got.status != http.StatusOK || got.header.Get("Set-Cookie") != "" {
			t.Fatalf("visitor %d is answered %d with the cookie %q", n, got.status, got.header.Get("Set-Cookie"))
		}
	}
	v := s.visitor()
	v.sendToIssuer(i, "/")
	v.signIn("key-that-nobody-has", "/")
	v.open("/" + s.org)
	if n := stored(); n != 0 {
		t.Errorf("%d sessions are stored", n)
	}
	v.signIn(readerKey, "/")
	v.signIn(readerKey, "/")
	if n := stored(); n != 1 {
		t.Errorf("%d sessions of somebody who has signed in twice are stored", n)
	}
}

func TestUsersSignInAgainAfterTheirKeyWasRevoked(t *testing.T) {
	t.Parallel()
	s := share(t)
	created := s.do(http.MethodPost, "/api/v2/user/api-keys", memberKey, []byte(`{"description":"browser"}`))
	v := s.signedIn(lookup(t, created.value(t), "key").(string))
	s.do(http.MethodDelete, "/api/v2/user/api-keys/"+lookup(t, created.value(t), "id").(string), memberKey, nil)
	if got := v.signIn(memberKey, "/"); got.status != http.StatusSeeOther {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
}
