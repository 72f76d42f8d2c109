package web

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"
)

// addresses returns an address of each page that needs a session.
func (s *Site) addresses() []string {
	addresses := []string{evaluatePath}
	for _, page := range s.pages() {
		addresses = append(addresses, regexp.MustCompile(`:\w+`).ReplaceAllString(page.path, "acme"))
	}
	return addresses
}

func TestPagesNeedASession(t *testing.T) {
	api := newFakeAPI(t, nil)
	api.signOut(t)
	for _, address := range api.site.addresses() {
		api.open(t, address).redirects(t, http.StatusSeeOther, "/signin?next="+url.QueryEscape(address))
	}
	api.sendFile(t, ownPage).redirects(t, http.StatusSeeOther, "/signin?next="+url.QueryEscape(evaluatePath))
	if len(api.queries) > 0 {
		t.Errorf("asked %v", api.queries)
	}
}
