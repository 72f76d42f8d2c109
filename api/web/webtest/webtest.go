// Package webtest helps tests and benchmarks to use the pages as a browser does.
package webtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// SignIn signs a client in with an API key at a base URL. It returns the cookies of the session, which the cookie jar of
// the client keeps, too.
func SignIn(client *http.Client, base, key string) ([]*http.Cookie, error) {
	// A success redirects, a failure shows the form again.
	direct := *client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	request, err := http.NewRequest(http.MethodPost, base+"/signin", strings.NewReader(url.Values{"key": {key}}.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := direct.Do(request)
	if err != nil {
		return nil, err
	}
	page, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusSeeOther {
		return nil, fmt.Errorf("sign in: status %d: %s", answer.StatusCode, page)
	}
	return answer.Cookies(), nil
}
