// Package webtest helps tests and benchmarks to use the pages as a browser does.
package webtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
)

var csrfToken = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// Token returns the CSRF token of the form on a page.
func Token(page []byte) (string, error) {
	found := csrfToken.FindSubmatch(page)
	if found == nil {
		return "", errors.New("the page has no form with a CSRF token")
	}
	return string(found[1]), nil
}

// SignIn signs a client in with an API key at the service of a base URL. The cookie jar of the client
// keeps the session.
func SignIn(client *http.Client, base, key string) error {
	// A success is told by its redirect from a failure, which shows the form again.
	direct := *client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	shown, err := direct.Get(base + "/signin")
	if err != nil {
		return err
	}
	page, err := contentOf(shown)
	if err != nil {
		return err
	}
	token, err := Token(page)
	if err != nil {
		return fmt.Errorf("sign in, status %d: %w", shown.StatusCode, err)
	}
	answer, err := direct.PostForm(base+"/signin", url.Values{"csrf": {token}, "key": {key}})
	if err != nil {
		return err
	}
	if page, err = contentOf(answer); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusSeeOther {
		return fmt.Errorf("sign in: status %d: %s", answer.StatusCode, page)
	}
	return nil
}

// contentOf reads an answer to its end.
func contentOf(response *http.Response) ([]byte, error) {
	content, err := io.ReadAll(response.Body)
	return content, errors.Join(err, response.Body.Close())
}
