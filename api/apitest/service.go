// Package apitest runs the whole service for tests of the packages below api, and sends requests to it over HTTP, as
// clients do.
package apitest

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

	"attestry/api/apitest/openapi"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/process"
	"attestry/scripts/standalone/instance"
	"attestry/storage"
)

// Keys of users with each role in the test's organization, of a user who is not a member, and an expired one.
const (
	AdminKey       = "key-of-the-administrator"
	MemberKey      = "key-of-the-member"
	SnapshotterKey = "key-of-the-snapshotter"
	ReaderKey      = "key-of-the-reader"
	StrangerKey    = "key-of-the-stranger"
	ExpiredKey     = "key-that-has-expired"
)

// UserOf returns the name of a key's user.
func UserOf(key string) string { return cmp.Or(strings.TrimPrefix(key, "key-of-the-"), "no key") }

// Service is a running instance and the test that uses it.
type Service struct {
	*instance.Instance
	T *testing.T
	// org is the name of the test's organization, which has the beta features. public is the name of one that everybody
	// may read and that does not have them.
	Org, Public string
	Log         *LogBuffer
	Clock       *FakeClock
	API         *openapi.Document
	Secrets     *SecretTexts
	// settings are the options of the first start. restart uses them again.
	Settings instance.Options
}

// Options configure a service. Tests that need none of them use share.
type Options struct {
	Wrap          func(storage.Documents) storage.Documents
	WithoutWorker bool
	ReportWait    time.Duration
	// real uses real engines if they are configured (scripts/test --real). A few tests of each kind set it: what the
	// others test does not depend on the engines.
	Real bool
	// keepsRedis runs the embedded Redis outside of the service, so that it survives a restart.
	KeepsRedis bool
	// redis is the address of an embedded Redis that is not part of the service.
	redis string
	// redisDatabase is the number of the database on a real Redis.
	redisDatabase int
	// data is the directory of the embedded engines, "" for one of the test's own.
	Data string
	// memoryBudget is in MiB, 0 for the default of the machine.
	MemoryBudget int64
	// stoppedAt stops the clock at a time until the test advances it.
	StoppedAt time.Time
	// settings are further environment variables.
	Settings []string
}

// environ returns the environment variables of the options.
func (o *Options) environ() []string {
	variables := []string{
		"ATTESTRY_REQUEST_TIMEOUT=2m", // for slow machines
		"ATTESTRY_OUTBOUND_ALLOW=127.0.0.1",
		"ATTESTRY_CA_FILE=" + authorities,
	}
	if o.MemoryBudget > 0 {
		variables = append(variables, fmt.Sprintf("ATTESTRY_MEMORY_BUDGET=%dMiB", o.MemoryBudget))
	}
	return append(variables, o.Settings...)
}

// Scaled returns short with -short, else long.
func Scaled(short, long int) int {
	if testing.Short() {
		return short
	}
	return long
}

// ConcurrentClients is the number of clients that send the same request at once.
func ConcurrentClients() int { return Scaled(100, 1000) }

// Start runs a service for one test: with o.real on the real engines if they are configured, else on the embedded ones.
// Where real engines are configured, it skips tests that do not set o.real.
func Start(t *testing.T, o Options) *Service {
	t.Helper()
	if !o.Real {
		SkipOnRealEngines(t)
	}
	return StartOnAnyEngine(t, o)
}

// StartOnAnyEngine is Start without the skip on real engines.
func StartOnAnyEngine(t *testing.T, o Options) *Service {
	t.Helper()
	o.Data = cmp.Or(o.Data, t.TempDir())
	o.redisDatabase = 1
	if o.KeepsRedis {
		o.redis = startRedis(t)
	}
	s, err := Launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	s.T, s.Org, s.Public = t, "acme", "open"
	s.Must(s.CreateOrganizations(t.Context()))
	return s
}

// Launch starts a service that has no organizations yet.
func Launch(ctx context.Context, o Options) (*Service, error) {
	s := &Service{Log: &LogBuffer{}, Clock: &FakeClock{start: o.StoppedAt}, Secrets: newSecretTexts()}
	settings := instance.Options{
		Listen:        "127.0.0.1:0",
		Redis:         o.redis,
		Data:          o.Data,
		ReportWait:    cmp.Or(o.ReportWait, 10*time.Second),
		Environ:       o.environ(),
		Clock:         s.Clock.Read,
		Log:           process.NewLog(s.Log, slog.LevelDebug),
		Wrap:          o.Wrap,
		WithoutWorker: o.WithoutWorker,
	}
	if o.Real {
		if err := useRealEngines(ctx, &settings, o.redisDatabase); err != nil {
			return nil, err
		}
	}
	var err error
	if s.Instance, err = instance.Start(ctx, settings); err != nil {
		return nil, err
	}
	s.Settings = settings
	if s.API, err = openapi.Read(s.URL); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Restart stops the service, calls between, and starts a new one with the same stores and nothing in memory.
func (s *Service) Restart(between func()) {
	s.T.Helper()
	s.Must(s.Close())
	between()
	next, err := instance.Start(s.T.Context(), s.Settings)
	s.Must(err)
	s.Instance = next
}

// stop stops the service. It is an error if a secret is in its log, its documents or its objects.
func (s *Service) stop() error {
	found := s.FindSecrets(context.Background())
	return errors.Join(found, s.Close())
}

// CreateOrganizations creates the organizations of the test, with users in each role.
func (s *Service) CreateOrganizations(ctx context.Context) error {
	user := func(name string, expires int64, secrets ...evidence.Secret) identity.DeclaredUser {
		declared := identity.DeclaredUser{Name: name}
		for _, secret := range secrets {
			declared.Keys = append(declared.Keys, identity.DeclaredKey{Secret: secret, Description: "of " + name, ExpiresAt: expires})
		}
		return declared
	}
	_, err := s.Process.Store.Tenancy.ApplyBootstrap(ctx, identity.Bootstrap{
		Users: []identity.DeclaredUser{
			user("administrator", 0, AdminKey), user("member", 0, MemberKey),
			user("snapshotter", 0, SnapshotterKey), user("reader", 0, ReaderKey),
			user("stranger", 0, StrangerKey), user("gone", 1_700_000_000, ExpiredKey),
		},
		Organizations: []identity.DeclaredOrganization{
			{Name: s.Org, Beta: new(true), Members: map[string]evidence.Role{
				"administrator": evidence.Admin, "member": evidence.Member,
				"snapshotter": evidence.Snapshotter, "reader": evidence.Reader,
			}, Hooks: []identity.DeclaredHook{
				{Kind: identity.SonarHook, UID: s.HookUID("sonar"), Secret: HookSecret},
				{Kind: identity.LaunchDarklyHook, UID: s.HookUID("launch-darkly"), Secret: HookSecret},
			}},
			{Name: s.Public, Public: true, Beta: new(false), Members: map[string]evidence.Role{"administrator": evidence.Admin}},
		},
	})
	return err
}

// In returns the service for a subtest, so that failures are reported to the subtest.
func (s *Service) In(t *testing.T) *Service {
	within := *s
	within.T = t
	return &within
}

var digest = regexp.MustCompile(`[0-9a-f]{40,}`)

// CaseName makes the name of a subtest from the address of its request. It replaces names and ids that change from run
// to run, shortens digests to seven digits, and removes the question mark, which has a meaning in -run.
func (s *Service) CaseName(address string) string {
	name := strings.NewReplacer(s.URL, "", s.Org, "org", s.Public, "public", "?", " ").Replace(address)
	name = ChangingID.ReplaceAllString(name, "id")
	name = digest.ReplaceAllStringFunc(name, func(digits string) string { return digits[:7] })
	return cmp.Or(strings.Trim(name, "/& "), "no query")
}

// CreateEnvironment creates an environment of a type.
func (s *Service) CreateEnvironment(name string, kind evidence.EnvironmentType) {
	s.T.Helper()
	s.Want(http.StatusCreated, http.MethodPut, "/environments/"+s.Org,
		[]byte(`{"name":"`+name+`","type":"`+string(kind)+`","description":"of a test"}`))
}

// OrgID is the id of the test's organization in the store.
func (s *Service) OrgID() string {
	s.T.Helper()
	found, err := s.Process.Store.Tenancy.Organization(s.T.Context(), s.Org)
	s.Must(err)
	return found.ID
}

// EnvironmentID is the id of an environment in the store.
func (s *Service) EnvironmentID(name string) string {
	s.T.Helper()
	ref, err := s.Process.Store.Environments.Resolve(s.T.Context(), s.OrgID(), name)
	s.Must(err)
	return ref.ID
}

// Eventually waits for a condition.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	EventuallyWithin(t, time.Minute, what, holds)
}

// EventuallyWithin waits for a condition. The time is long enough for slow machines.
func EventuallyWithin(t *testing.T, span time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(span)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// LogBuffer keeps what is logged.
type LogBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (l *LogBuffer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(line)
}

func (l *LogBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}

// FakeClock is the clock of a service: the real time or, with a start, a stopped clock that moves a microsecond per
// reading. Tests advance it.
type FakeClock struct {
	// shared is set when other tests read the clock too.
	shared bool
	mu     sync.Mutex
	start  time.Time // zero for the real time
	offset time.Duration
}

// Read returns the time.
func (c *FakeClock) Read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.start.IsZero() {
		return time.Now().Add(c.offset)
	}
	c.offset += time.Microsecond
	return c.start.Add(c.offset)
}

// Advance moves the clock forward. It panics if other tests read the clock too.
func (c *FakeClock) Advance(span time.Duration) {
	if c.shared && span != 0 {
		panic("a test that advances the clock needs a service of its own")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += span
}

// Metric returns the value of a gauge or counter without labels.
func (s *Service) Metric(name string) float64 {
	s.T.Helper()
	families, err := s.Process.Metrics.Gather()
	s.Must(err)
	for _, family := range families {
		if family.GetName() == name {
			metric := family.GetMetric()[0]
			return metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	s.T.Fatalf("there is no metric %s", name)
	return 0
}

// MonthStart is when the clock starts.
var MonthStart = time.Date(2026, time.October, 1, 6, 0, 0, 0, time.UTC)
