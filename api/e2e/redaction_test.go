package e2e_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

// leakyDocuments has the requested ids in its errors and panics, as a driver may.
type leakyDocuments struct {
	storage.Documents
	mode atomic.Pointer[failingReads]
}

// failingReads names the collections whose reads fail or panic.
type failingReads struct{ fails, panics string }

func (k *leakyDocuments) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	mode := k.mode.Load()
	switch {
	case mode == nil:
	case schema.Name == mode.fails:
		return storage.Record{}, errors.New("no answer about " + id)
	case schema.Name == mode.panics:
		panic("lost in " + id)
	}
	return k.Documents.Get(ctx, schema, id)
}

func (k *leakyDocuments) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	for _, id := range ids {
		if _, err := k.Get(ctx, schema, id); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return nil, err
		}
	}
	return k.Documents.GetMany(ctx, schema, ids)
}

// escapeAll percent-encodes every byte.
func escapeAll(text string) string {
	var b strings.Builder
	for _, char := range []byte(text) {
		b.WriteString("%" + strings.ToUpper(string("0123456789abcdef"[char>>4])+string("0123456789abcdef"[char&15])))
	}
	return b.String()
}

func TestPastedKeyIsNeitherLoggedNorAnswered(t *testing.T) {
	t.Parallel()
	keys := map[string]string{
		"a made key":          evidence.NewAPIKey().Reveal(),
		"an imported key":     `pass/word+with?odd=chars & "more"`,
		"a long imported key": strings.Repeat("correct horse/", 40),
	}
	engine := &leakyDocuments{}
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, Wrap: func(docs storage.Documents) storage.Documents {
		engine.Documents = docs
		return engine
	}})
	for form, key := range keys {
		name := strings.ReplaceAll(form, " ", "-")
		_, err := s.Process.Store.Tenancy.ApplyBootstrap(t.Context(), identity.Bootstrap{
			Users:         []identity.DeclaredUser{{Name: name, Keys: []identity.DeclaredKey{{Secret: evidence.Secret(key), Description: "laptop"}}}},
			Organizations: []identity.DeclaredOrganization{{Name: "of-" + name, Members: map[string]evidence.Role{name: evidence.Admin}}},
		})
		s.Must(err)
		for _, authorization := range []string{"Bearer " + key, "Basic " + base64.StdEncoding.EncodeToString([]byte(key+":"))} {
			for escaping, escape := range map[string]func(string) string{"as in a path": url.PathEscape, "each byte": escapeAll} {
				for place, request := range map[string]struct {
					method, path, id, body string
					fails, panics, logged  string
					status                 int
				}{
					"the organization":       {path: "/flows/" + escape(key), status: 403},
					"a name":                 {path: "/flows/of-" + name + "/" + escape(key), status: 404},
					"an unknown path":        {path: "/nothing/" + escape(key), status: 404},
					"a parameter":            {path: "/trails/of-" + name + "?per_page=" + escape(key), status: 400},
					"the request id":         {path: "/flows/of-" + name, id: key, status: 200},
					"the request id, hidden": {path: "/flows/of-" + name, id: escape(key), status: 200},
					"a body":                 {method: "PUT", path: "/flows/of-" + name, body: `{"name":` + apitest.QuoteJSON(key) + `}`, status: 400},
					"an error":               {path: "/flows/of-" + name + "/" + escape(key), fails: "names", logged: "no answer about ", status: 500},
					"a panic":                {path: "/flows/of-" + name + "/" + escape(key), panics: "names", logged: "lost in ", status: 500},
					"the user agent":         {path: "/flows/of-" + name, status: 200},
				} {
					t.Run(form+", "+authorization[:6]+", "+place+", "+escaping, func(t *testing.T) {
						s := s.In(t)
						engine.mode.Store(&failingReads{fails: request.fails, panics: request.panics})
						method := request.method
						if method == "" {
							method = http.MethodGet
						}
						sent, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/v2"+request.path, strings.NewReader(request.body))
						s.Must(err)
						sent.Header.Set("Authorization", authorization)
						sent.Header.Set("Content-Type", "application/json")
						sent.Header.Set("User-Agent", key)
						if request.id != "" {
							sent.Header.Set("X-Request-ID", request.id)
						}
						before := len(s.Log.String())
						got := s.Exchange(sent)
						apitest.Equal(t, got.Status, request.status, got.Body)
						for header, values := range got.Header {
							wantHidden(t, key, header, strings.Join(values, " "))
						}
						wantHidden(t, key, "the answer", string(got.Body))
						written := s.Log.String()[before:]
						wantHidden(t, key, "the log", written)
						if request.logged != "" && (!strings.Contains(written, request.logged) || !strings.Contains(written, "[hidden]")) {
							t.Errorf("%q is not in the log: nothing was to be hidden", request.logged)
						}
					})
				}
			}
		}
	}
}

// wantHidden checks that a text does not contain a key, or the beginning of a long one, also after percent-decoding and
// unquoting.
func wantHidden(t *testing.T, key, where, text string) {
	t.Helper()
	key = key[:min(len(key), 100)]
	for range 3 {
		for _, form := range []string{key, strings.ReplaceAll(key, " ", "+"), strings.Trim(apitest.QuoteJSON(key), `"`)} {
			if strings.Contains(text, form) || strings.Contains(strings.ReplaceAll(text, `\"`, `"`), form) {
				t.Fatalf("the key is in %s: %s", where, text)
			}
		}
		text = lenientUnescape(text)
	}
}

func lenientUnescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if i+2 < len(text) && text[i] == '%' {
			if char, err := url.PathUnescape(text[i : i+3]); err == nil {
				b.WriteString(char)
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
