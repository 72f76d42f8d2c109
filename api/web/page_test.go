package web

import (
	"net/http"
	"testing"
)

func TestUnknownNamesCanBeSearchedFor(t *testing.T) {
	newFakeAPI(t, nil).open(t, "/acme/flows/nowhere").answers(t, http.StatusNotFound,
		`action="/acme/search"`, `<label for="find">`, "&lt;script&gt;alert(1)&lt;/script&gt; not found")
}

func TestPagesPassOnRetryAfter(t *testing.T) {
	busy := []cannedAnswer{{status: http.StatusServiceUnavailable, body: `{"message":"Please try again."}`, header: map[string]string{"Retry-After": "7"}}}
	api := newFakeAPI(t, cannedAnswers{
		"GET /environments/acme/prod": canned(prodEnvironment), "GET /policies/acme/p1": withHostile(hostilePolicy),
		"GET /env-diff/acme": busy, "POST /policies/acme/evaluate": busy, "GET /flows/acme": busy,
	})
	for _, shown := range []shownPage{
		api.open(t, "/acme/environments/prod/diff"), api.sendFile(t, ownPage), api.open(t, "/acme/flows"),
	} {
		shown.answers(t, http.StatusServiceUnavailable, "Please try again.")
		if got := shown.header.Get("Retry-After"); got != "7" {
			t.Errorf("%s: Retry-After is %q", shown.path, got)
		}
	}
}
