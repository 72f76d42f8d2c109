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

	"attestry/api/web/webtest"
	"attestry/evidence/policy"
)

// fileForm is a form with the token of a page and a policy file.
func fileForm(t *testing.T, token string, content []byte) (contentType string, form []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range map[string]string{"csrf": token, "environment": "production"} {
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
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

// postForm posts a form whose type is told.
func (v *visitor) postForm(path, contentType string, form []byte, header http.Header) answer {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.URL+path, bytes.NewReader(form))
	v.must(err)
	request.Header.Set("Content-Type", contentType)
	for name := range header {
		request.Header.Set(name, header.Get(name))
	}
	return v.send(request)
}

func TestPolicyFilesOfTheLargestSizeAreTriedInTheBrowser(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.deliverRed()
	v, path := s.signedIn(readerKey), "/"+s.org+"/policies/releases/evaluate"
	content := []byte(policyHead + "#" + strings.Repeat("x", policy.MaxSize))[:policy.MaxSize]
	kind, form := fileForm(t, v.token(path), content)
	if got := v.postForm(path, kind, form, nil); got.status != http.StatusOK || !strings.Contains(string(got.body), "1 would become compliant") {
		t.Errorf("the largest file answers %d: %.2000s", got.status, got.body)
	}
	kind, form = fileForm(t, v.token(path), []byte("_schema: v1\nunknown: ["))
	if got := v.postForm(path, kind, form, nil); got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "<h1") {
		t.Errorf("a file that is no policy answers %d: %.2000s", got.status, got.body)
	}
	kind, form = fileForm(t, v.token(path), bytes.Repeat([]byte("x"), 2<<20))
	if got := v.postForm(path, kind, form, nil); got.status != http.StatusRequestEntityTooLarge || !strings.Contains(string(got.body), "<h1") {
		t.Errorf("a form that is too large answers %d: %.2000s", got.status, got.body)
	}
}

func TestCompressedFormsAreNotUnpacked(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	kind, form := fileForm(t, "x", make([]byte, 64<<20))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(form)
	s.must(err)
	s.must(w.Close())
	got := s.visitor().postForm("/signin", kind, packed.Bytes(), http.Header{"Content-Encoding": {"gzip"}})
	if got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "Compressed forms are not accepted") {
		t.Errorf("it answers %d: %.2000s", got.status, got.body)
	}
}

func TestFormsAreTakenBehindAProxyThatEndsHTTPS(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true, settings: []string{"ATTESTRY_BASE_URL=https://evidence.example.com"}})
	v := s.visitor()
	shown := v.open("/signin")
	token, err := webtest.Token(shown.body)
	s.must(err)
	form := []byte(url.Values{"csrf": {token}, "key": {readerKey}}.Encode())
	cookies := ""
	for _, cookie := range shown.header.Values("Set-Cookie") {
		if !strings.Contains(cookie, "; secure") {
			t.Errorf("a cookie may be sent without https: %s", cookie)
		}
		cookies += strings.SplitAfter(cookie, ";")[0]
	}
	for referrer, status := range map[string]int{
		"https://evidence.example.com/signin":  http.StatusSeeOther,
		"https://elsewhere.example.com/signin": http.StatusForbidden,
		"":                                     http.StatusForbidden,
	} {
		got := v.postForm("/signin", "application/x-www-form-urlencoded", form, http.Header{
			"Cookie": {cookies}, "Referer": {referrer}, "X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"evidence.example.com"},
		})
		if got.status != status || status == http.StatusForbidden && !strings.Contains(string(got.body), "another address") {
			t.Errorf("from %q it answers %d: %.2000s", referrer, got.status, got.body)
		}
	}
}

func TestVisitorsWithoutASessionAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	known := s.visitor()
	statuses := map[int]int{}
	for range 130 {
		statuses[s.visitor().open("/signin").status]++
	}
	if fmt.Sprint(statuses) != "map[200:120 429:10]" {
		t.Errorf("the statuses are %v", statuses)
	}
	last := known.open("/signin")
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" || !strings.Contains(string(last.body), "in a minute") {
		t.Errorf("it answers %d: %s", last.status, last.body)
	}
}

func TestSignInOfWhoeverLostAKeyWorksAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	created := s.do(http.MethodPost, "/api/v2/user/api-keys", memberKey, []byte(`{"description":"browser"}`))
	v := s.signedIn(lookup(t, created.value(t), "key").(string))
	s.do(http.MethodDelete, "/api/v2/user/api-keys/"+lookup(t, created.value(t), "id").(string), memberKey, nil)
	if got := v.signIn(memberKey, "/"); got.status != http.StatusSeeOther {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
}
