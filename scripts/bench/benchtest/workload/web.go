package workload

import (
	"net/http"
	"strings"

	"attestry/api/web/webtest"
)

// signIn signs in to the pages, and returns the cookies of the session.
func (c *connection) signIn() (string, error) {
	signedIn, err := webtest.SignIn(&http.Client{Timeout: answerTimeout}, c.url, c.key)
	var cookies []string
	for _, cookie := range signedIn {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	return strings.Join(cookies, "; "), err
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
