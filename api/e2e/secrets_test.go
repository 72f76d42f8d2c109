package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
)

func TestSecretsAreFoundWhereverTheyAre(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	const planted = "a-secret-that-was-planted"
	check := func(where string, plant func()) {
		t.Helper()
		if err := s.FindSecrets(t.Context()); err != nil {
			t.Fatalf("before one is in %s: %v", where, err)
		}
		s.Secrets.Add(planted)
		plant()
		if err := s.FindSecrets(t.Context()); err == nil {
			t.Errorf("one in %s is not found", where)
		}
	}
	forget := func() { delete(s.Secrets.Texts, planted) }
	check("a document", func() {
		s.Want(http.StatusCreated, http.MethodPut, "/flows/"+s.Org, []byte(`{"name":"shop","description":"`+planted+`","template":["artifact"]}`))
	})
	forget()
	check("an object", func() {
		_, err := s.Process.Store.Objects.Put(t.Context(), s.OrgID(), strings.NewReader("begin "+planted+" end"), -1)
		s.Must(err)
	})
	forget()
	check("the log", func() { s.Process.Log.Warn("with " + planted) })
	forget()
}
