// Package e2e_test talks to the whole service over HTTP, as clients do.
package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/process"
	"attestry/scripts/standalone/instance"
	"attestry/storage"
)

// Keys of users with each role in the test's organization, of a user who is not a member, and an expired one.
const (
	adminKey       = "key-of-the-administrator"
	memberKey      = "key-of-the-member"
	snapshotterKey = "key-of-the-snapshotter"
	readerKey      = "key-of-the-reader"
	strangerKey    = "key-of-the-stranger"
	expiredKey     = "key-that-has-expired"
)

// userOf returns the name of a key's user.
func userOf(key string) string { return cmp.Or(strings.TrimPrefix(key, "key-of-the-"), "no key") }

// service is a running instance and the test that uses it.
type service struct {
	*instance.Instance
	t *testing.T
	// org is the name of the test's organization, which has the beta features. public is the name of one that everybody
	// may read and that does not have them.
	org, public string
	log         *logBuffer
	clock       *fakeClock
	api         *document
	secrets     *secretTexts
	// settings are the options of the first start. restart uses them again.
	settings instance.Options
}

// options configure a service. Tests that need none of them use share.
type options struct {
	wrap          func(storage.Documents) storage.Documents
	withoutWorker bool
	reportWait    time.Duration
	// real uses real engines if they are configured (scripts/test --real). A few tests of each kind set it: what the
	// others test does not depend on the engines.
	real bool
	// keepsRedis runs the embedded Redis outside of the service, so that it survives a restart.
	keepsRedis bool
	// redis is the address of an embedded Redis that is not part of the service.
	redis string
	// redisDatabase is the number of the database on a real Redis.
	redisDatabase int
	// data is the directory of the embedded engines, "" for one of the test's own.
	data string
	// memoryBudget is in MiB, 0 for the default of the machine.
	memoryBudget int64
	// stoppedAt stops the clock at a time until the test advances it.
	stoppedAt time.Time
	// settings are further environment variables.
	settings []string
}

// environ returns the environment variables of the options.
func (o *options) environ() []string {
	variables := []string{
		"ATTESTRY_REQUEST_TIMEOUT=2m", // for slow machines
		"ATTESTRY_OUTBOUND_ALLOW=127.0.0.1",
		"ATTESTRY_CA_FILE=" + authorities,
	}
	if o.memoryBudget > 0 {
		variables = append(variables, fmt.Sprintf("ATTESTRY_MEMORY_BUDGET=%dMiB", o.memoryBudget))
	}
	return append(variables, o.settings...)
}

// scaled returns short with -short, else long.
func scaled(short, long int) int {
	if testing.Short() {
		return short
	}
	return long
}

// concurrentClients is the number of clients that send the same request at once.
func concurrentClients() int { return scaled(100, 1000) }

// start runs a service for one test: with o.real on the real engines if they are configured, else on the embedded ones.
// Where real engines are configured, it skips tests that do not set o.real.
func start(t *testing.T, o options) *service {
	t.Helper()
	if !o.real {
		skipOnRealEngines(t)
	}
	return begin(t, o)
}

// begin is start without the skip on real engines.
func begin(t *testing.T, o options) *service {
	t.Helper()
	o.data = cmp.Or(o.data, t.TempDir())
	o.redisDatabase = 1
	if o.keepsRedis {
		o.redis = startRedis(t)
	}
	s, err := launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	s.t, s.org, s.public = t, "acme", "open"
	s.must(s.createOrganizations(t.Context()))
	return s
}

// launch starts a service that has no organizations yet.
func launch(ctx context.Context, o options) (*service, error) {
	s := &service{log: &logBuffer{}, clock: &fakeClock{start: o.stoppedAt}, secrets: newSecretTexts()}
	settings := instance.Options{
		Listen:        "127.0.0.1:0",
		Redis:         o.redis,
		Data:          o.data,
		ReportWait:    cmp.Or(o.reportWait, 10*time.Second),
		Environ:       o.environ(),
		Clock:         s.clock.read,
		Log:           process.NewLog(s.log, slog.LevelDebug),
		Wrap:          o.wrap,
		WithoutWorker: o.withoutWorker,
	}
	if o.real {
		if err := useRealEngines(ctx, &settings, o.redisDatabase); err != nil {
			return nil, err
		}
	}
	var err error
	if s.Instance, err = instance.Start(ctx, settings); err != nil {
		return nil, err
	}
	s.settings = settings
	if s.api, err = openAPI(s.URL); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// restart stops the service, calls between, and starts a new one with the same stores and nothing in memory.
func (s *service) restart(between func()) {
	s.t.Helper()
	s.must(s.Close())
	between()
	next, err := instance.Start(s.t.Context(), s.settings)
	s.must(err)
	s.Instance = next
}

// stop stops the service. It is an error if a secret is in its log, its documents or its objects.
func (s *service) stop() error {
	found := s.findSecrets(context.Background())
	return errors.Join(found, s.Close())
}

// createOrganizations creates the organizations of the test, with users in each role.
func (s *service) createOrganizations(ctx context.Context) error {
	user := func(name string, expires int64, secrets ...evidence.Secret) identity.DeclaredUser {
		declared := identity.DeclaredUser{Name: name}
		for _, secret := range secrets {
			declared.Keys = append(declared.Keys, identity.DeclaredKey{Secret: secret, Description: "of " + name, ExpiresAt: expires})
		}
		return declared
	}
	_, err := s.Process.Store.Tenancy.ApplyBootstrap(ctx, identity.Bootstrap{
		Users: []identity.DeclaredUser{
			user("administrator", 0, adminKey), user("member", 0, memberKey),
			user("snapshotter", 0, snapshotterKey), user("reader", 0, readerKey),
			user("stranger", 0, strangerKey), user("gone", 1_700_000_000, expiredKey),
		},
		Organizations: []identity.DeclaredOrganization{
			{Name: s.org, Beta: new(true), Members: map[string]evidence.Role{
				"administrator": evidence.Admin, "member": evidence.Member,
				"snapshotter": evidence.Snapshotter, "reader": evidence.Reader,
			}, Hooks: []identity.DeclaredHook{
				{Kind: identity.SonarHook, UID: s.hookUID("sonar"), Secret: hookSecret},
				{Kind: identity.LaunchDarklyHook, UID: s.hookUID("launch-darkly"), Secret: hookSecret},
			}},
			{Name: s.public, Public: true, Beta: new(false), Members: map[string]evidence.Role{"administrator": evidence.Admin}},
		},
	})
	return err
}

// in returns the service for a subtest, so that failures are reported to the subtest.
func (s *service) in(t *testing.T) *service {
	within := *s
	within.t = t
	return &within
}

var digest = regexp.MustCompile(`[0-9a-f]{40,}`)

// caseName makes the name of a subtest from the address of its request. It replaces names and ids that change from run
// to run, shortens digests to seven digits, and removes the question mark, which has a meaning in -run.
func (s *service) caseName(address string) string {
	name := strings.NewReplacer(s.URL, "", s.org, "org", s.public, "public", "?", " ").Replace(address)
	name = changingID.ReplaceAllString(name, "id")
	name = digest.ReplaceAllStringFunc(name, func(digits string) string { return digits[:7] })
	return cmp.Or(strings.Trim(name, "/& "), "no query")
}

// createEnvironment creates an environment of a type.
func (s *service) createEnvironment(name string, kind evidence.EnvironmentType) {
	s.t.Helper()
	s.want(http.StatusCreated, http.MethodPut, "/environments/"+s.org,
		[]byte(`{"name":"`+name+`","type":"`+string(kind)+`","description":"of a test"}`))
}

// orgID is the id of the test's organization in the store.
func (s *service) orgID() string {
	s.t.Helper()
	found, err := s.Process.Store.Tenancy.Organization(s.t.Context(), s.org)
	s.must(err)
	return found.ID
}

// environmentID is the id of an environment in the store.
func (s *service) environmentID(name string) string {
	s.t.Helper()
	ref, err := s.Process.Store.Environments.Resolve(s.t.Context(), s.orgID(), name)
	s.must(err)
	return ref.ID
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	eventuallyWithin(t, time.Minute, what, holds)
}

// eventuallyWithin waits for a condition. The time is long enough for slow machines.
func eventuallyWithin(t *testing.T, span time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(span)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
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

// fakeClock is the clock of a service: the real time or, with a start, a stopped clock that moves a microsecond per
// reading. Tests advance it.
type fakeClock struct {
	// shared is set when other tests read the clock too.
	shared bool
	mu     sync.Mutex
	start  time.Time // zero for the real time
	offset time.Duration
}

func (c *fakeClock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.start.IsZero() {
		return time.Now().Add(c.offset)
	}
	c.offset += time.Microsecond
	return c.start.Add(c.offset)
}

func (c *fakeClock) advance(span time.Duration) {
	if c.shared && span != 0 {
		panic("a test that advances the clock needs a service of its own")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += span
}
