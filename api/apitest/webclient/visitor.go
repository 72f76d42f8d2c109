// Package webclient uses the pages of a service as people do: with a client that keeps cookies, or in Chromium.
package webclient

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/peers"
	"attestry/api/web/webtest"
)

// Visitor is a browser without JavaScript.
type Visitor struct {
	*apitest.Service
	Client *http.Client
}

// NewVisitor returns a person who is not signed in.
func NewVisitor(s *apitest.Service) *Visitor {
	s.T.Helper()
	jar, err := cookiejar.New(nil)
	s.Must(err)
	return &Visitor{Service: s, Client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// SignedIn returns a visitor who is signed in with a key.
func SignedIn(s *apitest.Service, key string) *Visitor {
	s.T.Helper()
	v := NewVisitor(s)
	_, err := webtest.SignIn(v.Client, s.URL, key)
	s.Must(err)
	return v
}

// Send sends a request with the cookies of the person, and follows no redirect.
func (v *Visitor) Send(request *http.Request) apitest.Answer {
	v.T.Helper()
	request.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	response, err := v.Client.Do(request)
	v.Must(err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	v.Must(err)
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		content = bytes.ReplaceAll(content, []byte("<wbr>"), nil) // <wbr> is not part of the text
	}
	return apitest.Answer{Status: response.StatusCode, Header: response.Header, Body: content}
}

// Open opens a page.
func (v *Visitor) Open(path string) apitest.Answer {
	v.T.Helper()
	request, err := http.NewRequestWithContext(v.T.Context(), http.MethodGet, v.URL+path, nil)
	v.Must(err)
	return v.Send(request)
}

// Post sends a form from a page of the service.
func (v *Visitor) Post(path string, form url.Values) apitest.Answer {
	v.T.Helper()
	request, err := http.NewRequestWithContext(v.T.Context(), http.MethodPost, v.URL+path, strings.NewReader(form.Encode()))
	v.Must(err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", v.URL)
	return v.Send(request)
}

// SignIn signs in with a key, on the way to a page.
func (v *Visitor) SignIn(key, next string) apitest.Answer {
	v.T.Helper()
	return v.Post("/signin", url.Values{"key": {key}, "next": {next}})
}

// WantPage opens a page and checks that it has a status and texts.
func (v *Visitor) WantPage(status int, path string, texts ...string) {
	v.T.Helper()
	got := v.Open(path)
	for _, text := range texts {
		if got.Status != status || !strings.Contains(string(got.Body), text) {
			v.T.Errorf("%s answers %d without %q:\n%s", path, got.Status, text, got.Body)
		}
	}
	if !strings.Contains(got.Header.Get("Content-Security-Policy"), "script-src 'self'") {
		v.T.Errorf("%s may run any script", path)
	}
}

// SignInAsInvited follows an invitation to the issuer and signs in there with a name.
func (v *Visitor) SignInAsInvited(i *peers.Issuer, page, name string) apitest.Answer {
	v.T.Helper()
	v.WantPage(http.StatusOK, page, `href="/signin/oidc?next=`+url.QueryEscape(page))
	redirect, err := url.Parse(v.Open("/signin/oidc?next=" + url.QueryEscape(page)).Header.Get("Location"))
	v.Must(err)
	i.Claims = map[string]any{"preferred_username": name, "nonce": redirect.Query().Get("nonce")}
	return v.Open("/signin/oidc/callback?code=c&state=" + redirect.Query().Get("state"))
}

// PostForm posts a form of a content type. Its Origin is the service unless the header has another.
func (v *Visitor) PostForm(path, contentType string, form []byte, header http.Header) apitest.Answer {
	v.T.Helper()
	request, err := http.NewRequestWithContext(v.T.Context(), http.MethodPost, v.URL+path, bytes.NewReader(form))
	v.Must(err)
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Origin", v.URL)
	for name := range header {
		request.Header.Set(name, header.Get(name))
	}
	return v.Send(request)
}

// StartWithIssuer starts a service whose users can sign in with an issuer.
func StartWithIssuer(t *testing.T) (*apitest.Service, *peers.Issuer) {
	t.Helper()
	i := peers.NewIssuer(t)
	return apitest.Start(t, apitest.Options{WithoutWorker: true, Settings: i.SignInSettings()}), i
}

// SendToIssuer follows the link to the issuer and returns the parameters of the authorization request.
func (v *Visitor) SendToIssuer(i *peers.Issuer, next string) url.Values {
	v.T.Helper()
	v.WantPage(http.StatusOK, "/signin?next="+url.QueryEscape(next), `href="/signin/oidc?next=`+url.QueryEscape(next))
	got := v.Open("/signin/oidc?next=" + url.QueryEscape(next))
	address, err := url.Parse(got.Header.Get("Location"))
	if err != nil || got.Status != http.StatusSeeOther || !strings.HasPrefix(address.String(), i.URL+"/authorize?") {
		v.T.Fatalf("it leads to %d %s", got.Status, got.Header.Get("Location"))
	}
	return address.Query()
}

// SendForm sends a form of the settings and checks that it redirects to its area.
func (v *Visitor) SendForm(path string, form url.Values) {
	v.T.Helper()
	got := v.Post("/"+v.Org+"/settings/"+path, form)
	if got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Header.Get("Location"), "/"+v.Org+"/settings/"+strings.SplitN(path, "/", 2)[0]) {
		v.T.Fatalf("%s: status %d to %q: %s", path, got.Status, got.Header.Get("Location"), got.Body)
	}
}

// WantSetting fails the test unless a page of the settings has a text.
func (v *Visitor) WantSetting(path, text string) {
	v.T.Helper()
	v.WantPage(http.StatusOK, "/"+v.Org+"/settings/"+path, text)
}

var (
	inputs    = regexp.MustCompile(`<input [^>]*name="([^"]+)"[^>]* value="([^"]*)"`)
	textareas = regexp.MustCompile(`<textarea [^>]*name="([^"]+)"[^>]*>\n?([^<]*)</textarea>`)
	selects   = regexp.MustCompile(`(?s)<select [^>]*name="([^"]+)"[^>]*>.*?<option selected>([^<]*)</option>.*?</select>`)
)

// FilledForm opens a form and returns what a browser sends for it.
func (v *Visitor) FilledForm(path string) url.Values {
	v.T.Helper()
	got := v.Open("/" + v.Org + "/settings/" + path)
	if got.Status != http.StatusOK {
		v.T.Fatalf("%s: status %d: %s", path, got.Status, got.Body)
	}
	return v.FormOn(got)
}

// FormOn returns what a browser sends for the form on a page: without line breaks in inputs, and with CRLF for each in
// texts.
func (v *Visitor) FormOn(got apitest.Answer) url.Values {
	form := url.Values{}
	add := func(elements *regexp.Regexp, breaks *strings.Replacer) {
		for _, found := range elements.FindAllStringSubmatch(string(got.Body), -1) {
			form.Add(found[1], breaks.Replace(html.UnescapeString(found[2])))
		}
	}
	add(inputs, strings.NewReplacer("\r", "", "\n", ""))
	add(textareas, strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n"))
	add(selects, strings.NewReplacer())
	return form
}

// CellsOf returns the first cells of the rows of all pages of an area, each page in brackets, and of the pages that the
// links to the next page lead to.
func (v *Visitor) CellsOf(area, query string) string {
	v.T.Helper()
	cells := regexp.MustCompile(`<th scope="row"><bdi>([^<]*)</bdi></th>`)
	next := regexp.MustCompile(`href="([^"]*)" rel="next"`)
	var pages []string
	for len(pages) < 9 {
		got := v.Open("/" + v.Org + "/settings/" + area + query)
		if got.Status != http.StatusOK {
			v.T.Fatalf("%s: status %d: %s", query, got.Status, got.Body)
		}
		var page []string
		for _, found := range cells.FindAllSubmatch(got.Body, -1) {
			page = append(page, string(found[1]))
		}
		pages = append(pages, fmt.Sprint(page))
		link := next.FindSubmatch(got.Body)
		if link == nil {
			break
		}
		query = html.UnescapeString(string(link[1]))
	}
	return strings.Join(pages, " ")
}
