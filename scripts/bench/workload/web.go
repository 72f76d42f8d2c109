package workload

import (
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

var csrfToken = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// signIn returns the cookies of a person who has signed in to the pages.
func (c *connection) signIn() (string, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	browser := &http.Client{Jar: jar, Timeout: answerTimeout}
	form, err := browser.Get(c.url + "/signin")
	if err != nil {
		return "", err
	}
	content, err := contentOf(form)
	if err != nil {
		return "", err
	}
	token := csrfToken.FindSubmatch(content)
	if token == nil {
		return "", errors.New("the page to sign in has no form")
	}
	signedIn, err := browser.PostForm(c.url+"/signin", url.Values{"csrf": {string(token[1])}, "key": {c.key}, "next": {"/signout"}})
	if err != nil {
		return "", err
	}
	if _, err := contentOf(signedIn); err != nil {
		return "", err
	}
	address, err := url.Parse(c.url)
	if err != nil {
		return "", err
	}
	var cookies []string
	for _, cookie := range jar.Cookies(address) {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	return strings.Join(cookies, "; "), nil
}

// openEnvironment opens the page of an environment; the baseline reads the snapshot that it shows.
func openEnvironment(c *client) (service, baseline requests, err error) {
	cookie, err := c.connection.signIn()
	if err != nil {
		return nil, nil, err
	}
	page := strings.TrimPrefix(c.path("/{org}/environments/{history}"), "/api/v2")
	ok := answer{status: http.StatusOK}
	return always(request{method: http.MethodGet, path: page, cookie: cookie, want: ok}),
		always(request{method: http.MethodGet, path: c.path("/snapshots/{org}/{history}/-1?explain=true"), want: ok}), nil
}

// contentOf reads an answer to its end.
func contentOf(response *http.Response) ([]byte, error) {
	content, err := io.ReadAll(response.Body)
	return content, errors.Join(err, response.Body.Close())
}
