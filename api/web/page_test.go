package web

import (
	"net/http"
	"testing"
)

func TestUnknownNamesCanBeSearchedFor(t *testing.T) {
	newFakeAPI(t, nil).open(t, "/acme/flows/nowhere").answers(t, http.StatusNotFound,
		`action="/acme/search"`, `<label for="find">`, "&lt;script&gt;alert(1)&lt;/script&gt; not found")
}
