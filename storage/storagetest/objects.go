package storagetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"attestry/storage"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// Objects is the conformance suite that every engine of storage.Objects passes.
// open returns an empty store of its own to each test.
func Objects(t *testing.T, open func(t *testing.T) storage.Objects) {
	tests := []struct {
		name string
		run  func(*testing.T, storage.Objects)
	}{
		{"PutGivesBackWhatItTook", objectRoundTrips},
		{"PutNamesTheContentAddress", objectAddress},
		{"PutRefusesAnotherSize", objectWrongSize},
		{"PutOfABrokenStreamLeavesNothing", objectBrokenStream},
		{"PutStopsWithItsContext", objectCancelledPut},
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
		{"ListIsInOrderOfKeys", objectListOrder},
		{"ListKeepsToItsPrefix", objectListPrefix},
		{"ListStopsWhenTold", objectListStops},
		{"EveryCallStopsWithItsContext", objectCancelledCalls},
		{"PingAnswers", objectPing},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func objectRoundTrips(t *testing.T, store storage.Objects) {
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

func objectAddress(t *testing.T, store storage.Objects) {
	object, err := store.Put(t.Context(), "org", strings.NewReader("abc"), 3)
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	want := storage.Object{Key: "org/sha256/" + sum[:2] + "/" + sum[2:], Size: 3, SHA256: sum}
	if err != nil || object != want {
		t.Errorf("Put: %+v, %v; want %+v", object, err, want)
	}
}

func objectWrongSize(t *testing.T, store storage.Objects) {
	for _, test := range []struct{ size, announced int64 }{
		{0, 1}, {10, 0}, {10, 9}, {10, 11}, {mib, mib + 1}, {mib + 1, mib}, {6 * mib, 6*mib + 1}, {6*mib + 1, 6 * mib},
	} {
		_, err := store.Put(t.Context(), "org", objectStream(1, test.size), test.announced)
		if err == nil {
			t.Errorf("Put took %d bytes announced as %d", test.size, test.announced)
		}
	}
	requireKeys(t, store, "", nil)
}

func objectBrokenStream(t *testing.T, store storage.Objects) {
	broken := errors.New("the stream broke")
	for _, size := range []int64{0, 10, mib, 3 * mib, 18 * mib} {
		// A torn request body ends with io.ErrUnexpectedEOF, which some readers
		// take for the end.
		for _, failure := range []error{broken, io.ErrUnexpectedEOF} {
			_, err := store.Put(t.Context(), "org", io.MultiReader(objectStream(1, size), failingReader{failure}), -1)
			if !errors.Is(err, failure) {
				t.Errorf("Put of a stream that failed after %d bytes with %q returned %v", size, failure, err)
			}
		}
	}
	requireKeys(t, store, "", nil)
}

func objectCancelledPut(t *testing.T, store storage.Objects) {
	for _, size := range []int64{10, 20 * mib} {
		ctx, cancel := context.WithCancel(t.Context())
		stream := io.MultiReader(objectStream(1, size/2), hookReader(cancel), objectStream(2, size/2))
		if _, err := store.Put(ctx, "org", stream, -1); !errors.Is(err, context.Canceled) {
			t.Errorf("Put of %d bytes, cancelled midway, returned %v", size, err)
		}
	}
	requireKeys(t, store, "", nil)
}

func objectTwice(t *testing.T, store storage.Objects) {
	for _, size := range []int64{10, 2 * mib} {
		first := putObject(t, store, "org", 1, size, size)
		second := putObject(t, store, "org", 1, size, -1)
		if first != second {
			t.Errorf("the same content became %+v, then %+v", first, second)
		}
		requireContent(t, store, first.Key, 0, -1, objectContent(1, size))
		requireKeys(t, store, first.Key, []string{first.Key})
	}
}

func objectConcurrentPuts(t *testing.T, store storage.Objects) {
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
	if keys := listObjects(t, store, ""); len(keys) != 2 {
		t.Errorf("two contents became %d objects", len(keys))
	}
}

func objectHostileScopes(t *testing.T, store storage.Objects) {
	for _, scope := range []string{
		"", ".", "..", "../x", "a/b", "/etc", "a/../b", ".incoming", "_incoming", "-a", "a b", "a\\b", "a\x00b", "ä", strings.Repeat("a", 129),
	} {
		if object, err := store.Put(t.Context(), scope, strings.NewReader("x"), 1); err == nil {
			t.Errorf("Put took the scope %q and made %s", scope, object.Key)
		}
	}
	requireKeys(t, store, "", nil)
}

func objectRanges(t *testing.T, store storage.Objects) {
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

func objectImpossibleRanges(t *testing.T, store storage.Objects) {
	object := putObject(t, store, "org", 1, 100, 100)
	for _, test := range []struct{ offset, length int64 }{{-1, -1}, {-5, 10}, {0, -2}} {
		if r, err := store.Get(t.Context(), object.Key, test.offset, test.length); err == nil {
			r.Close()
			t.Errorf("Get took the range (%d, %d)", test.offset, test.length)
		}
	}
}

func objectAbsent(t *testing.T, store storage.Objects) {
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

func objectHostileKeys(t *testing.T, store storage.Objects) {
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
	}
	requireKeys(t, store, "", []string{object.Key})
}

func objectDelete(t *testing.T, store storage.Objects) {
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

func objectDeleteScoped(t *testing.T, store storage.Objects) {
	ours, theirs := putObject(t, store, "ours", 1, 10, 10), putObject(t, store, "theirs", 1, 10, 10)
	if err := store.Delete(t.Context(), ours.Key); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	requireKeys(t, store, "", []string{theirs.Key})
}

func objectListOrder(t *testing.T, store storage.Objects) {
	var want []string
	// "-" and "." sort before the slash that ends a scope, digits and letters
	// behind it.
	for _, scope := range []string{"a", "a-b", "a.b", "a0", "ab", "B"} {
		for seed := range uint64(5) {
			want = append(want, putObject(t, store, scope, seed, 100, 100).Key)
		}
	}
	slices.Sort(want)
	requireKeys(t, store, "", want)
}

func objectListPrefix(t *testing.T, store storage.Objects) {
	first, second := putObject(t, store, "org", 1, 10, 10), putObject(t, store, "org2", 2, 10, 10)
	for prefix, want := range map[string][]string{
		"org":             {first.Key, second.Key},
		"org/":            {first.Key},
		"org/sha256/":     {first.Key},
		"org/sha":         {first.Key},
		first.Key[:20]:    {first.Key},
		first.Key:         {first.Key},
		first.Key + "x":   nil,
		"org2/":           {second.Key},
		"nobody/":         nil,
		"../":             nil,
		"/":               nil,
		"org/../org2/sha": nil,
	} {
		requireKeys(t, store, prefix, want)
	}
}

func objectListStops(t *testing.T, store storage.Objects) {
	for seed := range uint64(5) {
		putObject(t, store, "org", seed, 10, 10)
	}
	seen := 0
	err := store.List(t.Context(), "org/", func(object storage.Object) bool {
		if object.Size != 10 || len(object.SHA256) != 64 {
			t.Errorf("List gave %+v", object)
		}
		seen++
		return seen < 2
	})
	if err != nil || seen != 2 {
		t.Errorf("List told to stop at 2 gave %d, %v", seen, err)
	}
}

func objectCancelledCalls(t *testing.T, store storage.Objects) {
	object := putObject(t, store, "org", 1, 10, 10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, putErr := store.Put(ctx, "org", strings.NewReader("x"), 1)
	_, getErr := store.Get(ctx, object.Key, 0, -1)
	_, statErr := store.Stat(ctx, object.Key)
	for call, err := range map[string]error{
		"Put": putErr, "Get": getErr, "Stat": statErr,
		"Delete": store.Delete(ctx, object.Key),
		"List":   store.List(ctx, "", func(storage.Object) bool { return true }),
		"Ping":   store.Ping(ctx),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context returned %v", call, err)
		}
	}
	requireKeys(t, store, "", []string{object.Key})
}

func objectPing(t *testing.T, store storage.Objects) {
	if err := store.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	requireKeys(t, store, "", nil)
}

func putObject(t *testing.T, store storage.Objects, scope string, seed uint64, size, announced int64) storage.Object {
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

func requireContent(t *testing.T, store storage.Objects, key string, offset, length int64, want []byte) {
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

func listObjects(t *testing.T, store storage.Objects, prefix string) []string {
	t.Helper()
	var keys []string
	err := store.List(t.Context(), prefix, func(object storage.Object) bool {
		keys = append(keys, object.Key)
		return true
	})
	if err != nil {
		t.Fatalf("List %q: %v", prefix, err)
	}
	return keys
}

func requireKeys(t *testing.T, store storage.Objects, prefix string, want []string) {
	t.Helper()
	if got := listObjects(t, store, prefix); !slices.Equal(got, want) {
		t.Errorf("List %q gave %q, want %q", prefix, got, want)
	}
}
