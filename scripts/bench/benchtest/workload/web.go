package workload

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"attestry/api/web/webtest"
)

// signIn signs in to the pages, and returns the cookies of the session.
func (c *connection) signIn() (string, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	if err := webtest.SignIn(&http.Client{Jar: jar, Timeout: answerTimeout}, c.url, c.key); err != nil {
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

// openEnvironment opens the page of an environment. The baseline reads the snapshot that the page shows.
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
