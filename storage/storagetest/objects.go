package storagetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/storage"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// ObjectStore is an engine of storage.Objects under test.
type ObjectStore struct {
	storage.Objects
	// Keys lists the keys of all objects that are stored, in order.
	Keys func() []string
}

// Objects is the conformance suite of engines of storage.Objects. open returns a new empty store for each test.
func Objects(t *testing.T, open func(t *testing.T) ObjectStore) {
	tests := []struct {
		name string
		run  func(*testing.T, ObjectStore)
	}{
		{"PutContentIsReadBack", objectRoundTrips},
		{"PutNamesTheContentAddress", objectAddress},
		{"PutRefusesAnotherSize", objectWrongSize},
		{"PutOfABrokenStreamLeavesNothing", objectBrokenStream},
		{"PutStopsWhenItsContextIsCancelled", objectCancelledPut},
		{"PutOfTheSameContentTwiceIsOneObject", objectTwice},
		{"ConcurrentPutsOfTheSameContentSucceed", objectConcurrentPuts},
		{"PutRefusesHostileScopes", objectHostileScopes},
		{"StreamsStayOutOfMemory", objectMemory},
		{"GetReadsRanges", objectRanges},
		{"GetRefusesImpossibleRanges", objectImpossibleRanges},
		{"AbsentObjectsAreNotFound", objectAbsent},
		{"HostileKeysAreRefused", objectHostileKeys},
		{"DeleteIsIdempotent", objectDelete},
		{"DeleteSparesOtherScopes", objectDeleteScoped},
		{"RetainKeepsTheObject", objectRetain},
		{"ListIsInTheOrderOfKeys", objectList},
		{"ListStartsAfterAnyKey", objectListAfter},
		{"EveryCallStopsWhenItsContextIsCancelled", objectCancelledCalls},
		{"PingAnswers", objectPing},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func objectRoundTrips(t *testing.T, store ObjectStore) {
	for i, size := range []int64{0, 1, mib, mib + 1, 20 * mib} {
		for _, announced := range []int64{size, -1} {
			object := putObject(t, store, "org", uint64(i), size, announced)
			requireContent(t, store, object.Key, 0, -1, objectContent(uint64(i), size))
			stat, err := store.Stat(t.Context(), object.Key)
			if err != nil || stat != object {
				t.Errorf("Stat of %d bytes: %+v, %v; want %+v", size, stat, err, object)
			}
		}
	}
}

func objectAddress(t *testing.T, store ObjectStore) {
	object, err := store.Put(t.Context(), "org", strings.NewReader("abc"), 3)
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	want := storage.Object{Key: "org/sha256/" + sum[:2] + "/" + sum[2:], Size: 3, SHA256: sum}
	if err != nil || object != want {
		t.Errorf("Put: %+v, %v; want %+v", object, err, want)
	}
}

func objectWrongSize(t *testing.T, store ObjectStore) {
	for _, test := range []struct{ size, announced int64 }{
		{0, 1}, {10, 0}, {10, 9}, {10, 11}, {mib, mib + 1}, {mib + 1, mib}, {6 * mib, 6*mib + 1}, {6*mib + 1, 6 * mib},
	} {
		_, err := store.Put(t.Context(), "org", objectStream(1, test.size), test.announced)
		if err == nil {
			t.Errorf("Put took %d bytes announced as %d", test.size, test.announced)
		}
	}
	requireKeys(t, store)
}

func objectBrokenStream(t *testing.T, store ObjectStore) {
	broken := errors.New("the stream broke")
	for _, size := range []int64{0, 10, mib, 3 * mib, 18 * mib} {
		// A truncated request body ends with io.ErrUnexpectedEOF, which some readers treat as the normal end.
		for _, failure := range []error{broken, io.ErrUnexpectedEOF} {
			_, err := store.Put(t.Context(), "org", io.MultiReader(objectStream(1, size), failingReader{failure}), -1)
			if !errors.Is(err, failure) {
				t.Errorf("Put of a stream that failed after %d bytes with %q returned %v", size, failure, err)
			}
		}
	}
	requireKeys(t, store)
}

func objectCancelledPut(t *testing.T, store ObjectStore) {
	for _, size := range []int64{10, 20 * mib} {
		ctx, cancel := context.WithCancel(t.Context())
		stream := io.MultiReader(objectStream(1, size/2), hookReader(cancel), objectStream(2, size/2))
		if _, err := store.Put(ctx, "org", stream, -1); !errors.Is(err, context.Canceled) {
			t.Errorf("Put of %d bytes, cancelled midway, returned %v", size, err)
		}
	}
	requireKeys(t, store)
}

func objectTwice(t *testing.T, store ObjectStore) {
	var keys []string
	for _, size := range []int64{10, 2 * mib} {
		first := putObject(t, store, "org", 1, size, size)
		second := putObject(t, store, "org", 1, size, -1)
		if first != second {
			t.Errorf("the same content became %+v, then %+v", first, second)
		}
		requireContent(t, store, first.Key, 0, -1, objectContent(1, size))
		keys = append(keys, first.Key)
		slices.Sort(keys)
		requireKeys(t, store, keys...)
	}
}

func objectConcurrentPuts(t *testing.T, store ObjectStore) {
	const writers = 16
	for _, size := range []int64{10, mib + 1} {
		failures := make(chan error, writers)
		for range writers {
			go func() {
				_, err := store.Put(t.Context(), "org", objectStream(1, size), size)
				failures <- err
			}()
		}
		for range writers {
			if err := <-failures; err != nil {
				t.Errorf("Put of %d bytes: %v", size, err)
			}
		}
	}
	if keys := store.Keys(); len(keys) != 2 {
		t.Errorf("two contents became %d objects", len(keys))
	}
}

func objectHostileScopes(t *testing.T, store ObjectStore) {
	for _, scope := range []string{
		"", ".", "..", "../x", "a/b", "/etc", "a/../b", ".incoming", "_incoming", "-a", "a b", "a\\b", "a\x00b", "ä", strings.Repeat("a", 129),
	} {
		if object, err := store.Put(t.Context(), scope, strings.NewReader("x"), 1); err == nil {
			t.Errorf("Put took the scope %q and made %s", scope, object.Key)
		}
	}
	requireKeys(t, store)
}

func objectRanges(t *testing.T, store ObjectStore) {
	const size = 100
	content := objectContent(1, size)
	object := putObject(t, store, "org", 1, size, size)
	for _, test := range []struct{ offset, length, from, to int64 }{
		{0, -1, 0, size},
		{0, size, 0, size},
		{0, 1, 0, 1},
		{5, 10, 5, 15},
		{5, -1, 5, size},
		{99, 1, 99, size},
		{90, 1000, 90, size},
		{0, 0, 0, 0},
		{5, 0, 0, 0},
		{100, -1, 0, 0},
		{100, 1, 0, 0},
		{1000, 10, 0, 0},
	} {
		requireContent(t, store, object.Key, test.offset, test.length, content[test.from:test.to])
	}
	empty := putObject(t, store, "org", 1, 0, 0)
	requireContent(t, store, empty.Key, 0, 10, nil)
}

func objectImpossibleRanges(t *testing.T, store ObjectStore) {
	object := putObject(t, store, "org", 1, 100, 100)
	for _, test := range []struct{ offset, length int64 }{{-1, -1}, {-5, 10}, {0, -2}} {
		if r, err := store.Get(t.Context(), object.Key, test.offset, test.length); err == nil {
			r.Close()
			t.Errorf("Get took the range (%d, %d)", test.offset, test.length)
		}
	}
}

func objectAbsent(t *testing.T, store ObjectStore) {
	putObject(t, store, "org", 1, 10, 10)
	key := "org/sha256/00/" + strings.Repeat("0", 62)
	if _, err := store.Stat(t.Context(), key); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Stat: %v", err)
	}
	for _, test := range []struct{ offset, length int64 }{{0, -1}, {5, 10}, {0, 0}} {
		if _, err := store.Get(t.Context(), key, test.offset, test.length); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("Get (%d, %d): %v", test.offset, test.length, err)
		}
	}
}

func objectHostileKeys(t *testing.T, store ObjectStore) {
	object := putObject(t, store, "org", 1, 10, 10)
	sum := object.SHA256
	for _, key := range []string{
		"", ".", "/", "org", "org/", "org/sha256", "../../etc/passwd", "/" + object.Key, object.Key + "/", object.Key + "/..",
		"org/sha256/../" + sum[2:], "org/sha256//" + sum, "org/sha256/" + sum, "org/../org/sha256/" + sum[:2] + "/" + sum[2:],
		"./" + object.Key, "org/sha256/" + sum[:3] + "/" + sum[3:], strings.ToUpper(object.Key), "org/md5/" + sum[:2] + "/" + sum[2:],
		"/sha256/" + sum[:2] + "/" + sum[2:], ".incoming/sha256/" + sum[:2] + "/" + sum[2:], object.Key + "\x00", object.Key[:len(object.Key)-1],
	} {
		if _, err := store.Stat(t.Context(), key); err == nil {
			t.Errorf("Stat took the key %q", key)
		}
		if r, err := store.Get(t.Context(), key, 0, -1); err == nil {
			r.Close()
			t.Errorf("Get took the key %q", key)
		}
		if err := store.Delete(t.Context(), key); err == nil {
			t.Errorf("Delete took the key %q", key)
		}
		if err := store.Retain(t.Context(), key, time.Now()); err == nil {
			t.Errorf("Retain took the key %q", key)
		}
	}
	requireKeys(t, store, object.Key)
}

func objectDelete(t *testing.T, store ObjectStore) {
	object := putObject(t, store, "org", 1, 10, 10)
	for range 2 {
		if err := store.Delete(t.Context(), object.Key); err != nil {
			t.Fatalf("Delete: %v", err)
		}
	}
	if _, err := store.Stat(t.Context(), object.Key); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Stat of a deleted object: %v", err)
	}
	if err := store.Delete(t.Context(), "never/sha256/00/"+strings.Repeat("0", 62)); err != nil {
		t.Errorf("Delete in a scope that never was: %v", err)
	}
	putObject(t, store, "org", 1, 10, 10)
	requireContent(t, store, object.Key, 0, -1, objectContent(1, 10))
}

func objectDeleteScoped(t *testing.T, store ObjectStore) {
	ours, theirs := putObject(t, store, "ours", 1, 10, 10), putObject(t, store, "theirs", 1, 10, 10)
	if err := store.Delete(t.Context(), ours.Key); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	requireKeys(t, store, theirs.Key)
}

// objectRetain holds for stores with and without retention.
func objectRetain(t *testing.T, store ObjectStore) {
	object, other := putObject(t, store, "org", 1, 10, 10), putObject(t, store, "org", 2, 10, 10)
	for _, duration := range []time.Duration{2 * time.Hour, time.Hour, 3 * time.Hour} {
		if err := store.Retain(t.Context(), object.Key, time.Now().Add(duration)); err != nil {
			t.Errorf("Retain for %s: %v", duration, err)
		}
		putObject(t, store, "org", 1, 10, 10)
	}
	err := store.Delete(t.Context(), object.Key)
	switch {
	case errors.Is(err, storage.ErrRetained):
		requireContent(t, store, object.Key, 0, -1, objectContent(1, 10))
	case err != nil:
		t.Errorf("Delete of a retained object: %v", err)
	default:
		requireKeys(t, store, other.Key)
	}
	if err := store.Delete(t.Context(), other.Key); err != nil {
		t.Errorf("Delete of another object: %v", err)
	}
	for _, absent := range []string{other.Key, "never/sha256/00/" + strings.Repeat("0", 62)} {
		if err := store.Retain(t.Context(), absent, time.Now().Add(time.Hour)); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("Retain of an absent object: %v", err)
		}
	}
}

func objectCancelledCalls(t *testing.T, store ObjectStore) {
	object := putObject(t, store, "org", 1, 10, 10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, putErr := store.Put(ctx, "org", strings.NewReader("x"), 1)
	_, getErr := store.Get(ctx, object.Key, 0, -1)
	_, statErr := store.Stat(ctx, object.Key)
	_, listErr := store.List(ctx, "", 1)
	for call, err := range map[string]error{
		"Put": putErr, "Get": getErr, "Stat": statErr, "List": listErr,
		"Delete": store.Delete(ctx, object.Key),
		"Retain": store.Retain(ctx, object.Key, time.Now().Add(time.Hour)),
		"Ping":   store.Ping(ctx),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context returned %v", call, err)
		}
	}
	requireKeys(t, store, object.Key)
}

func objectPing(t *testing.T, store ObjectStore) {
	if err := store.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	requireKeys(t, store)
}

func putObject(t *testing.T, store ObjectStore, scope string, seed uint64, size, announced int64) storage.Object {
	t.Helper()
	object, err := store.Put(t.Context(), scope, objectStream(seed, size), announced)
	if err != nil {
		t.Fatalf("Put of %d bytes: %v", size, err)
	}
	if object.Size != size {
		t.Fatalf("Put of %d bytes says %d", size, object.Size)
	}
	return object
}

func requireContent(t *testing.T, store ObjectStore, key string, offset, length int64, want []byte) {
	t.Helper()
	r, err := store.Get(t.Context(), key, offset, length)
	if err != nil {
		t.Fatalf("Get (%d, %d): %v", offset, length, err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("Get (%d, %d) gave %d bytes, %v; want %d other bytes", offset, length, len(got), err, len(want))
	}
}

func requireKeys(t *testing.T, store ObjectStore, want ...string) {
	t.Helper()
	if got := store.Keys(); !slices.Equal(got, want) {
		t.Errorf("stored are %q, want %q", got, want)
	}
}

// FileKeys lists the keys of the objects that storage/filesystem keeps in a folder, in order.
func FileKeys(t testing.TB, folder string) []string {
	t.Helper()
	var keys []string
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		key, err := filepath.Rel(folder, file)
		if _, foreign := storage.ParseObjectKey(filepath.ToSlash(key)); foreign == nil {
			keys = append(keys, filepath.ToSlash(key))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}
