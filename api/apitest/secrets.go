package apitest

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

	"attestry/app"
	"attestry/evidence"
	"attestry/storage"
)

// madeKey matches keys that the service generates.
var madeKey = regexp.MustCompile(evidence.APIKeyPattern)

// SigningSecret matches the signing secrets of webhooks.
var SigningSecret = regexp.MustCompile(`whsec_[A-Za-z0-9+/]{43}=`)

// SecretTexts are all keys and tokens that a service was called with or has issued. None of them may be in its log, its
// errors, its documents or its objects.
type SecretTexts struct {
	mu    sync.Mutex
	Texts map[string]bool
}

func newSecretTexts() *SecretTexts { return &SecretTexts{Texts: map[string]bool{}} }

// Add adds a secret unless it is so short that it may occur by chance.
func (s *SecretTexts) Add(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(secret) >= evidence.MinKeyLength {
		s.Texts[secret] = true
	}
}

func (s *SecretTexts) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.Texts))
}

// addSent adds the credentials of an Authorization header.
func (s *SecretTexts) addSent(authorization string) {
	scheme, credentials, _ := strings.Cut(authorization, " ")
	if decoded, err := base64.StdEncoding.DecodeString(credentials); scheme == "Basic" && err == nil {
		credentials, _, _ = strings.Cut(string(decoded), ":")
	}
	s.Add(credentials)
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
func (s *Service) checkSecrets(request *http.Request, status int, body []byte) {
	s.T.Helper()
	s.Secrets.addSent(request.Header.Get("Authorization"))
	if status == http.StatusCreated && issuesKeys(request) {
		var issued struct{ Key string }
		if err := json.Unmarshal(body, &issued); err == nil {
			s.Secrets.Add(issued.Key)
		}
		return
	}
	if link := InvitationLink.FindSubmatch(body); link != nil && status == http.StatusCreated {
		s.Secrets.Add(string(link[2]))
	}
	if madeKey.Match(body) {
		s.T.Errorf("%s %s answers with a key: %s", request.Method, request.URL.Path, body)
	}
	if SigningSecret.Match(body) && !rotatesSecret(request) {
		s.T.Errorf("%s %s answers with a signing secret: %s", request.Method, request.URL.Path, body)
	}
	if status < http.StatusBadRequest {
		return
	}
	for _, secret := range s.Secrets.all() {
		if bytes.Contains(body, []byte(secret)) {
			s.T.Errorf("%s %s: the error has the secret %s: %s", request.Method, request.URL.Path, secret, body)
		}
	}
}

// FindSecrets returns an error for every secret in the log, the documents and the objects of a service, and for every
// hash of one in the log.
func (s *Service) FindSecrets(ctx context.Context) error {
	secrets := append(s.Secrets.all(), HookUIDPart)
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
		if found := SigningSecret.Find(content); found != nil && !strings.HasPrefix(where, "targets ") {
			faults = append(faults, fmt.Errorf("%s has the signing secret %s", where, found))
		}
	}
	logged := append(slices.Clone(secrets), HookSecret)
	for _, secret := range secrets {
		logged = append(logged, evidence.HashAPIKey(secret))
	}
	search("the log", []byte(s.Log.String()), logged)
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
