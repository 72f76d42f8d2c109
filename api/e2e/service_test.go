// Package e2e_test talks to the whole service over HTTP, as clients do.
package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/process"
	"attestry/scripts/standalone/instance"
	"attestry/storage"
	"attestry/tasks"
)

// The keys of the organization that tests work in, one per role, and that of a
// stranger.
const (
	adminKey       = "key-of-the-administrator"
	memberKey      = "key-of-the-member"
	snapshotterKey = "key-of-the-snapshotter"
	readerKey      = "key-of-the-reader"
	strangerKey    = "key-of-the-stranger"
	expiredKey     = "key-that-has-expired"
)

const org = "acme"

// service is a running instance with what tests need to look at it.
type service struct {
	*instance.Instance
	t     *testing.T
	log   *logBuffer
	clock *fakeClock
	api   *document
}

type options struct {
	wrap          func(storage.Documents) storage.Documents
	withoutWorker bool
	reportWait    time.Duration
	// real takes the real engines that the environment names (scripts/test --real), for
	// some stories of each kind. What the others count or fill in is the same on all engines.
	real bool
	// data is the directory of the embedded engines, "" for one of the test's own.
	data string
	// memoryBudget is in MiB, 0 for the default of the machine.
	memoryBudget int64
	// begins lets the clock stand at a time, and move by the turns of the test alone.
	begins time.Time
}

// environ are the settings of the service that the options name.
func (o *options) environ() []string {
	if o.memoryBudget == 0 {
		return nil
	}
	return []string{fmt.Sprintf("ATTESTRY_MEMORY_BUDGET=%dMiB", o.memoryBudget)}
}

// concurrentClients is how many clients ask for the same thing at once.
func concurrentClients() int {
	if testing.Short() {
		return 100
	}
	return 1000
}

// start runs the service on the embedded engines or, if the test asks for them and there
// are any, on real ones. Where there are, it skips the tests that do not ask for them.
func start(t *testing.T, o options) *service {
	t.Helper()
	if !o.real && realS3() != "" {
		t.Skip("uses the embedded engines only, and was run with them")
	}
	if o.reportWait == 0 {
		o.reportWait = 10 * time.Second
	}
	s := &service{t: t, log: &logBuffer{}, clock: &fakeClock{begins: o.begins}}
	engines := instance.Options{}
	if o.real {
		engines = instance.Options{Redis: realRedis(t), MongoDB: realMongoDB(), S3: realS3()}
	}
	running, err := instance.Start(t.Context(), instance.Options{
		Listen:        "127.0.0.1:0",
		Data:          cmp.Or(o.data, t.TempDir()),
		Redis:         engines.Redis,
		MongoDB:       engines.MongoDB,
		S3:            engines.S3,
		ReportWait:    o.reportWait,
		Environ:       o.environ(),
		Clock:         s.clock.read,
		Log:           process.NewLog(s.log, slog.LevelDebug),
		Wrap:          o.wrap,
		WithoutWorker: o.withoutWorker,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Instance = running
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
		s.assertNoSecrets()
	})
	s.populate()
	s.api = s.readDocument()
	return s
}

func realRedis(t *testing.T) string {
	address := os.Getenv("ATTESTRY_TEST_REDIS")
	if address == "" {
		return ""
	}
	client, err := tasks.NewRedis(address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return address
}

// realMongoDB gives each instance a database of its own.
func realMongoDB() string {
	address := os.Getenv("ATTESTRY_TEST_MONGODB")
	before, after, _ := strings.Cut(address, "/?")
	if address == "" {
		return ""
	}
	return before + "/e2e_" + strings.ReplaceAll(evidence.NewID(), "-", "") + "?" + after
}

// realS3 gives each instance a bucket of its own.
func realS3() string {
	address, err := url.Parse(os.Getenv("ATTESTRY_TEST_S3"))
	if err != nil || address.Host == "" {
		return ""
	}
	address.Path = "/e2e-" + evidence.NewID()
	return address.String()
}

func (s *service) populate() {
	s.t.Helper()
	user := func(name string, expires int64, secrets ...evidence.Secret) evidence.DeclaredUser {
		declared := evidence.DeclaredUser{Name: name}
		for _, secret := range secrets {
			declared.Keys = append(declared.Keys, evidence.DeclaredKey{Secret: secret, Description: string(secret), ExpiresAt: expires})
		}
		return declared
	}
	_, err := s.Process.Store.Tenancy.ApplyBootstrap(s.t.Context(), evidence.Bootstrap{
		Users: []evidence.DeclaredUser{
			user("administrator", 0, adminKey), user("member", 0, memberKey),
			user("snapshotter", 0, snapshotterKey), user("reader", 0, readerKey),
			user("stranger", 0, strangerKey), user("gone", 1_700_000_000, expiredKey),
		},
		Organizations: []evidence.DeclaredOrganization{
			{Name: org, Members: map[string]evidence.Role{
				"administrator": evidence.Admin, "member": evidence.Member,
				"snapshotter": evidence.Snapshotter, "reader": evidence.Reader,
			}},
			{Name: "open", Public: true, Members: map[string]evidence.Role{"administrator": evidence.Admin}},
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// answer is what came back of a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request and checks that the answer is one that the OpenAPI document
// describes.
func (s *service) do(method, path, key string, body []byte) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	return s.send(request)
}

func (s *service) send(request *http.Request) answer {
	s.t.Helper()
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	return s.exchange(request)
}

func (s *service) exchange(request *http.Request) answer {
	s.t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.api != nil {
		s.api.check(s.t, request.Method, request.URL.Path, response.StatusCode, content)
	}
	return answer{status: response.StatusCode, header: response.Header, body: content}
}

// want sends a request as an administrator and insists on the answer's status.
func (s *service) want(status int, method, path string, body []byte) answer {
	s.t.Helper()
	got := s.do(method, "/api/v2"+path, adminKey, body)
	if got.status != status {
		s.t.Fatalf("%s %s: status %d, want %d: %s", method, path, got.status, status, got.body)
	}
	return got
}

// text decodes a bare JSON string.
func (a answer) text(t *testing.T) string {
	t.Helper()
	var text string
	a.decode(t, &text)
	return text
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		t.Fatalf("decode %s: %v", a.body, err)
	}
}

// problem decodes an error.
func (a answer) problem(t *testing.T) (message string, errors map[string]string) {
	t.Helper()
	var body struct {
		Message string
		Errors  map[string]string
	}
	a.decode(t, &body)
	return body.Message, body.Errors
}

// in is the service for a subtest: what it finds is reported there.
func (s *service) in(t *testing.T) *service {
	within := *s
	within.t = t
	return &within
}

// environment makes an environment of the given type.
func (s *service) environment(name string, kind evidence.EnvironmentType) {
	s.t.Helper()
	s.want(http.StatusCreated, http.MethodPut, "/environments/"+org,
		[]byte(`{"name":"`+name+`","type":"`+string(kind)+`","description":"of a test"}`))
}

// environmentID finds the id behind a name, for looking into the store.
func (s *service) environmentID(name string) string {
	s.t.Helper()
	found, err := s.Process.Store.Tenancy.Organization(s.t.Context(), org)
	if err != nil {
		s.t.Fatal(err)
	}
	ref, err := s.Process.Store.Environments.Resolve(s.t.Context(), found.ID, name)
	if err != nil {
		s.t.Fatal(err)
	}
	return ref.ID
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	within(t, time.Minute, what, holds)
}

// within waits for a condition, for a time in which only a fault can keep it from
// coming true.
func within(t *testing.T, span time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(span)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *service) assertNoSecrets() {
	written := s.log.String()
	for _, secret := range []string{adminKey, memberKey, snapshotterKey, readerKey, strangerKey, expiredKey} {
		if strings.Contains(written, secret) || strings.Contains(written, evidence.HashAPIKey(secret)) {
			s.t.Errorf("%s is in the log", secret)
		}
	}
}

// logBuffer keeps what is logged.
type logBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (l *logBuffer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(line)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}

// fakeClock is the clock of a service: the real time, or one that stands still but for a
// microsecond per look; turned forward by tests.
type fakeClock struct {
	mu     sync.Mutex
	begins time.Time
	ahead  time.Duration
}

func (h *fakeClock) read() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.begins.IsZero() {
		return time.Now().Add(h.ahead)
	}
	h.ahead += time.Microsecond
	return h.begins.Add(h.ahead)
}

func (h *fakeClock) turn(span time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ahead += span
}
