package orphans_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/tasks/orphans"
)

// fakeObjects is an object store with sorted keys, whose operations fail with these errors.
type fakeObjects struct {
	storage.Objects
	keys              []string
	deletion, listing error
}

func (o *fakeObjects) List(_ context.Context, after string, limit int) (page []storage.Object, err error) {
	at, found := slices.BinarySearch(o.keys, after)
	if found {
		at++
	}
	for _, key := range o.keys[at:min(len(o.keys), at+limit)] {
		page = append(page, storage.Object{Key: key})
	}
	return page, o.listing
}

func (o *fakeObjects) Delete(_ context.Context, key string) error {
	if at, found := slices.BinarySearch(o.keys, key); found && o.deletion == nil {
		o.keys = slices.Delete(o.keys, at, at+1)
	}
	return o.deletion
}

// scene is a collector of the objects whose keys begin with "a/". Records name the keys in named.
type scene struct {
	*orphans.Collector
	objects  *fakeObjects
	named    map[string]bool
	namedErr error
	docs     storage.Documents
	clock    *evidencetest.Clock
	logged   bytes.Buffer
}

func newScene(t *testing.T, keys ...string) *scene {
	s := &scene{objects: &fakeObjects{keys: slices.Clone(keys)}, named: map[string]bool{}, clock: evidencetest.NewClock(time.Unix(1_800_000_000, 0))}
	s.docs = pebbletest.Open(t, filepath.Join(t.TempDir(), "documents"), []*storage.Schema{storage.LeaseSchema})
	named := func(context.Context) (map[string]bool, error) { return s.named, s.namedErr }
	s.Collector = orphans.NewCollector(s.objects, storage.NewLeases(s.docs, s.clock.Now), "a/", named, s.clock.Now, slog.New(slog.NewTextHandler(&s.logged, nil)))
	return s
}

// step advances the clock and collects. The store must then have the keys.
func (s *scene) step(t *testing.T, name string, after time.Duration, failure error, want ...string) {
	t.Helper()
	s.clock.Advance(after)
	err := s.Collect(t.Context())
	if !errors.Is(err, failure) || failure == nil && err != nil || !slices.Equal(s.objects.keys, want) {
		t.Errorf("%s: %v, the objects are %v, want %v", name, err, s.objects.keys, want)
	}
}

func TestObjectIsDeletedAfterAnHourWithoutARecord(t *testing.T) {
	s := newScene(t, "a/named", "a/orphan", "b/other")
	s.named["a/named"] = true
	s.step(t, "listed first", 0, nil, "a/named", "a/orphan", "b/other")
	s.step(t, "a second too early", time.Hour-time.Second, nil, "a/named", "a/orphan", "b/other")
	s.named["a/orphan"] = true
	s.step(t, "named meanwhile", time.Hour, nil, "a/named", "a/orphan", "b/other")
	delete(s.named, "a/orphan")
	s.step(t, "without a record again", time.Hour, nil, "a/named", "a/orphan", "b/other")
	s.step(t, "after an hour", time.Hour, nil, "a/named", "b/other")
}

func TestObjectThatCannotBeDeletedIsTriedAgain(t *testing.T) {
	outage := storage.Outage(storage.ObjectStore, errors.New("refused"))
	for name, c := range map[string]struct {
		failure, returned error
		logged            string
	}{
		"it is retained": {failure: storage.ErrRetained},
		"it is damaged":  {failure: errors.New("broken disk"), logged: "broken disk"},
		"an outage":      {failure: outage, returned: storage.ErrOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, "a/1", "a/2")
			s.step(t, "listed first", 0, nil, "a/1", "a/2")
			s.objects.deletion = c.failure
			s.step(t, "the deletion fails", time.Hour, c.returned, "a/1", "a/2")
			if !strings.Contains(s.logged.String(), c.logged) || c.logged == "" && s.logged.Len() > 0 {
				t.Errorf("logged %s", s.logged.String())
			}
			s.objects.deletion = nil
			s.step(t, "it succeeds", time.Second, nil)
		})
	}
}

func TestNothingIsDeletedWithoutTheNamesOrTheLease(t *testing.T) {
	errFault := errors.New("a fault of a test")
	s := newScene(t, "a/1")
	s.step(t, "listed first", 0, nil, "a/1")
	s.namedErr = errFault
	s.step(t, "the names cannot be read", time.Hour, errFault, "a/1")
	s.namedErr, s.objects.listing = nil, errFault
	s.step(t, "the objects cannot be listed", time.Hour, errFault, "a/1")
	s.objects.listing = nil
	s.clock.Advance(3 * orphans.Interval) // the lease of this process expires
	if ok, err := storage.NewLeases(s.docs, s.clock.Now).Acquire(t.Context(), "orphans/a/", 2*time.Hour); err != nil || !ok {
		t.Fatal(ok, err)
	}
	s.step(t, "another process is elected", time.Hour, nil, "a/1")
	s.step(t, "its lease has expired", time.Hour, nil)
}

func TestTenThousandObjectsAreRemembered(t *testing.T) {
	var keys []string
	for i := range 10_001 {
		keys = append(keys, fmt.Sprintf("a/%05d", i))
	}
	s := newScene(t, keys...)
	s.objects.deletion = storage.ErrRetained
	s.step(t, "listed first", 0, nil, keys...)
	s.objects.deletion = nil
	s.step(t, "after an hour", time.Hour, nil, keys[10_000])
	s.step(t, "after another hour", time.Hour, nil)
}
