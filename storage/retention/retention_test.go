package retention_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/retention"
)

var now = time.Date(2026, 11, 21, 22, 57, 3, 0, time.UTC)

func clock() time.Time { return now }

// bucket is an in-memory object store with the methods that retention uses. Tests choose how it fails.
type bucket struct {
	storage.Objects
	content map[string]string
	until   map[string]time.Time

	putErr, retainErr, deleteErr error
	forgets                      bool // Retain succeeds without effect
	alters                       bool // Get returns other content
}

func newBucket() *bucket {
	return &bucket{content: map[string]string{}, until: map[string]time.Time{}}
}

func (b *bucket) Put(_ context.Context, scope string, r io.Reader, _ int64) (storage.Object, error) {
	content, err := io.ReadAll(r)
	key := storage.ObjectKey(scope, strings.Repeat("ab", 32))
	b.content[key] = string(content)
	return storage.Object{Key: key}, errors.Join(err, b.putErr)
}

func (b *bucket) Retain(_ context.Context, key string, until time.Time) error {
	b.until[key] = until
	return b.retainErr
}

func (b *bucket) Delete(_ context.Context, key string) error {
	if b.deleteErr != nil {
		return b.deleteErr
	}
	if !b.forgets && b.until[key].After(now) {
		return storage.ErrRetained
	}
	delete(b.content, key)
	return nil
}

func (b *bucket) Get(_ context.Context, key string, _, _ int64) (io.ReadCloser, error) {
	if b.alters {
		return io.NopCloser(strings.NewReader("other")), nil
	}
	return io.NopCloser(strings.NewReader(b.content[key])), nil
}

func TestKeepCountsTheDaysOfTheOrganization(t *testing.T) {
	b := newBucket()
	kept := retention.New(b, config.Retention{Days: 30, Organizations: map[string]int{"acme": 3650, "demo": 0}}, clock)
	for _, org := range []string{"acme", "demo", "other"} {
		evidencetest.Check(t, kept.Keep(t.Context(), org, "key of "+org))
	}
	want := map[string]time.Time{"key of acme": now.Add(3650 * 24 * time.Hour), "key of other": now.Add(30 * 24 * time.Hour)}
	if !maps.Equal(b.until, want) {
		t.Errorf("kept are %v, want %v", b.until, want)
	}
	b.retainErr = errors.New("refused")
	evidencetest.Is(t, kept.Keep(t.Context(), "acme", "key"), b.retainErr)
}

func TestVerifyReportsWhetherTheStoreKeepsObjects(t *testing.T) {
	outage := storage.Outage(storage.ObjectStore, errors.New("refused connection"))
	for name, test := range map[string]struct {
		bucket bucket
		want   []string // parts of the error, nil if there is none
	}{
		"a store that keeps":    {bucket{}, nil},
		"no object lock":        {bucket{retainErr: errors.New("Bucket is missing ObjectLockConfiguration")}, []string{"created with object lock", "missing ObjectLock"}},
		"a store that deletes":  {bucket{forgets: true}, []string{"created with object lock", "it deleted an object"}},
		"an unreachable store":  {bucket{retainErr: outage}, []string{"refused connection"}},
		"a store that is full":  {bucket{putErr: outage}, []string{"refused connection"}},
		"a failure of deletion": {bucket{deleteErr: outage}, []string{"refused connection"}},
		"a store that alters":   {bucket{alters: true}, []string{"other content"}},
		"a missing permission":  {bucket{deleteErr: errors.New("AccessDenied")}, []string{"AccessDenied"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := test.bucket
			b.content, b.until = map[string]string{}, map[string]time.Time{}
			kept := retention.New(&b, config.Retention{Organizations: map[string]int{"acme": 1}, Mode: "governance"}, clock)
			err := kept.Verify(t.Context())
			if (err == nil) != (test.want == nil) {
				t.Fatalf("Verify returned %v", err)
			}
			evidencetest.Contains(t, fmt.Sprint(err), test.want...)
			if errors.Is(err, storage.ErrOutage) && strings.Contains(err.Error(), "object lock") {
				t.Errorf("an outage is taken for a store without object lock: %v", err)
			}
		})
	}
}

func TestVerifyUsesOneObjectForAShortTime(t *testing.T) {
	b := newBucket()
	for range 3 {
		evidencetest.Must(t, retention.New(b, config.Retention{Days: 1, Mode: "governance"}, clock).Verify(t.Context()))
	}
	moments := slices.Collect(maps.Values(b.until))
	if len(b.content) != 1 || !slices.Equal(moments, []time.Time{now.Add(20 * time.Minute)}) {
		t.Errorf("the store holds %v until %v", b.content, moments)
	}
}

func TestStoreIsNotUsedWithoutDays(t *testing.T) {
	for _, settings := range []config.Retention{{}, {Mode: "compliance", Organizations: map[string]int{"acme": 0}}} {
		kept := retention.New(nil, settings, clock)
		if err := errors.Join(kept.Verify(t.Context()), kept.Keep(t.Context(), "acme", "key")); err != nil || kept.State() != "off" {
			t.Errorf("%+v: %v, %s", settings, err, kept.State())
		}
	}
}

func TestStateReportsTheVerification(t *testing.T) {
	kept := retention.New(newBucket(), config.Retention{Days: 1, Mode: "compliance"}, clock)
	const state = "objects are kept from deletion (compliance mode): "
	if got := kept.State(); got != state+"not verified" {
		t.Errorf("before: %s", got)
	}
	evidencetest.Must(t, kept.Verify(t.Context()))
	if got := kept.State(); got != state+"verified at 2026-11-21T22:57:03Z" {
		t.Errorf("after: %s", got)
	}
}
