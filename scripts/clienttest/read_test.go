package clienttest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"attestry/scripts/clienttest"
)

// TestListsAreReadToTheirLastPage reads both forms of lists, with last pages that are shorter or empty.
func TestListsAreReadToTheirLastPage(t *testing.T) {
	pages := map[string][]int{"1": {1, 2}, "2": {3, 4}, "3": {5}}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = pages[r.URL.Query().Get("page")]
		if r.URL.Path == "/api/v2/flows/acme/wrapped" {
			answer = map[string]any{"data": answer}
		}
		if r.Header.Get("Authorization") != "Bearer key" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		json.NewEncoder(w).Encode(answer)
	}))
	defer service.Close()
	for _, path := range []string{"/flows/{org}/bare", "/flows/{org}/wrapped"} {
		for _, last := range [][]int{{5}, {}} {
			pages["3"] = last
			got, err := clienttest.List[int](t.Context(), clienttest.New("acme", "key", service.URL), path, 2)
			if err != nil || !slices.Equal(got, slices.Concat(pages["1"], pages["2"], last)) {
				t.Errorf("%s: %v, %v", path, got, err)
			}
		}
	}
	if _, err := clienttest.List[int](t.Context(), clienttest.New("acme", "other", service.URL), "/flows/{org}/bare", 2); err == nil {
		t.Error("no error for an answer with status 401")
	}
}

// TestNextAddressIsUsedIfThereIsNoAnswer stops one of two servers.
func TestNextAddressIsUsedIfThereIsNoAnswer(t *testing.T) {
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	first, second := httptest.NewServer(answers), httptest.NewServer(answers)
	defer second.Close()
	c := clienttest.New("acme", "key", first.URL, second.URL)
	if _, err := clienttest.Get(t.Context(), c, "/flows/{org}"); err != nil || c.Address() != first.URL {
		t.Fatal(c.Address(), err)
	}
	first.Close()
	if _, err := clienttest.Get(t.Context(), c, "/flows/{org}"); err == nil {
		t.Fatal("a closed server answers")
	}
	if _, err := clienttest.Get(t.Context(), c, "/flows/{org}"); err != nil || c.Address() != second.URL {
		t.Error(c.Address(), err)
	}
}
