package e2e_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"attestry/app"
	"attestry/evidence"
	"attestry/storage"
)

// madeKey matches keys that the service generates.
var madeKey = regexp.MustCompile(evidence.APIKeyPattern)

// signingSecret matches the signing secrets of webhooks.
var signingSecret = regexp.MustCompile(`whsec_[A-Za-z0-9+/]{43}=`)

// secretTexts are all keys and tokens that a service was called with or has issued. None of them may be in its log, its
// errors, its documents or its objects.
type secretTexts struct {
	mu    sync.Mutex
	texts map[string]bool
}

func newSecretTexts() *secretTexts { return &secretTexts{texts: map[string]bool{}} }

// add adds a secret unless it is so short that it may occur by chance.
func (s *secretTexts) add(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(secret) >= evidence.MinKeyLength {
		s.texts[secret] = true
	}
}

func (s *secretTexts) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.texts))
}

// addSent adds the credentials of an Authorization header.
func (s *secretTexts) addSent(authorization string) {
	scheme, credentials, _ := strings.Cut(authorization, " ")
	if decoded, err := base64.StdEncoding.DecodeString(credentials); scheme == "Basic" && err == nil {
		credentials, _, _ = strings.Cut(string(decoded), ":")
	}
	s.add(credentials)
}

// issuesKeys reports whether the answer to a request contains a key.
func issuesKeys(request *http.Request) bool {
	path := request.URL.Path
	return request.Method == http.MethodPost && (strings.HasSuffix(path, "/api-keys") || strings.HasSuffix(path, "/rotate"))
}

// rotatesSecret reports whether the answer to a request contains a signing secret.
func rotatesSecret(request *http.Request) bool {
	return request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/secret")
}

// checkSecrets adds the key or invitation that an answer issues. It fails if any other answer contains a key or a
// signing secret, or if an error contains a known secret.
func (s *service) checkSecrets(request *http.Request, status int, body []byte) {
	s.t.Helper()
	s.secrets.addSent(request.Header.Get("Authorization"))
	if status == http.StatusCreated && issuesKeys(request) {
		var issued struct{ Key string }
		if err := json.Unmarshal(body, &issued); err == nil {
			s.secrets.add(issued.Key)
		}
		return
	}
	if link := invitationLink.FindSubmatch(body); link != nil && status == http.StatusCreated {
		s.secrets.add(string(link[2]))
	}
	if madeKey.Match(body) {
		s.t.Errorf("%s %s answers with a key: %s", request.Method, request.URL.Path, body)
	}
	if signingSecret.Match(body) && !rotatesSecret(request) {
		s.t.Errorf("%s %s answers with a signing secret: %s", request.Method, request.URL.Path, body)
	}
	if status < http.StatusBadRequest {
		return
	}
	for _, secret := range s.secrets.all() {
		if bytes.Contains(body, []byte(secret)) {
			s.t.Errorf("%s %s: the error has the secret %s: %s", request.Method, request.URL.Path, secret, body)
		}
	}
}

// findSecrets returns an error for every secret in the log, the documents and the objects of a service, and for every
// hash of one in the log.
func (s *service) findSecrets(ctx context.Context) error {
	secrets := append(s.secrets.all(), hookUIDPart)
	var faults []error
	search := func(where string, content []byte, hidden []string) {
		for _, secret := range hidden {
			if bytes.Contains(content, []byte(secret)) {
				faults = append(faults, fmt.Errorf("%s has the secret %s", where, secret))
			}
		}
		if found := madeKey.Find(content); found != nil {
			faults = append(faults, fmt.Errorf("%s has the key %s", where, found))
		}
		if found := signingSecret.Find(content); found != nil && !strings.HasPrefix(where, "targets ") {
			faults = append(faults, fmt.Errorf("%s has the signing secret %s", where, found))
		}
	}
	logged := append(slices.Clone(secrets), hookSecret)
	for _, secret := range secrets {
		logged = append(logged, evidence.HashAPIKey(secret))
	}
	search("the log", []byte(s.log.String()), logged)
	faults = append(faults, eachDocument(ctx, s.Process.Store.Documents, func(schema *storage.Schema, record storage.Record) {
		search(schema.Name+" "+record.ID, record.Body, secrets)
		search(schema.Name+" "+record.ID, fmt.Append(nil, record.ID, record.Fields), secrets)
	}))
	faults = append(faults, eachObject(ctx, s.Process.Store.Objects, func(key string, content []byte) {
		search("object "+key, content, secrets)
	}))
	return errors.Join(faults...)
}

// eachDocument calls yield for every document of a database.
func eachDocument(ctx context.Context, docs storage.Documents, yield func(*storage.Schema, storage.Record)) error {
	for _, schema := range app.Schemas() {
		for after := ""; ; {
			records, err := docs.List(ctx, schema, after, storage.MaxMany, 16<<20)
			if err != nil {
				return fmt.Errorf("list %s: %w", schema.Name, err)
			}
			if len(records) == 0 {
				break
			}
			for _, record := range records {
				yield(schema, record)
			}
			after = records[len(records)-1].ID
		}
	}
	return nil
}

// eachObject calls yield for every object of a store.
func eachObject(ctx context.Context, objects storage.Objects, yield func(key string, content []byte)) error {
	for after := ""; ; {
		listed, err := objects.List(ctx, after, storage.MaxMany)
		if err != nil || len(listed) == 0 {
			return err
		}
		for _, object := range listed {
			content, err := readObject(ctx, objects, object.Key)
			if err != nil && !errors.Is(err, storage.ErrDamaged) {
				return fmt.Errorf("object %s: %w", object.Key, err)
			}
			yield(object.Key, content)
		}
		after = listed[len(listed)-1].Key
	}
}

func readObject(ctx context.Context, objects storage.Objects, key string) ([]byte, error) {
	reader, err := objects.Get(ctx, key, 0, -1)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return io.ReadAll(reader)
}

func TestSecretsAreFoundWhereverTheyAre(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	const planted = "a-secret-that-was-planted"
	check := func(where string, plant func()) {
		t.Helper()
		if err := s.findSecrets(t.Context()); err != nil {
			t.Fatalf("before one is in %s: %v", where, err)
		}
		s.secrets.add(planted)
		plant()
		if err := s.findSecrets(t.Context()); err == nil {
			t.Errorf("one in %s is not found", where)
		}
	}
	forget := func() { delete(s.secrets.texts, planted) }
	check("a document", func() {
		s.want(http.StatusCreated, http.MethodPut, "/flows/"+s.org, []byte(`{"name":"shop","description":"`+planted+`","template":["artifact"]}`))
	})
	forget()
	check("an object", func() {
		_, err := s.Process.Store.Objects.Put(t.Context(), s.orgID(), strings.NewReader("begin "+planted+" end"), -1)
		s.must(err)
	})
	forget()
	check("the log", func() { s.Process.Log.Warn("with " + planted) })
	forget()
}
