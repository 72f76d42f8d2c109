package storagetest

import (
	"slices"
	"strings"
	"testing"

	"attestry/storage"
)

// listScopes have names that are prefixes of others: folders sort them differently than keys do.
var listScopes = []string{"a", "a-b", "a.b", "a0", "B", "org"}

// fillObjects puts objects into several scopes and returns them ordered by key.
func fillObjects(t *testing.T, store ObjectStore) []storage.Object {
	t.Helper()
	var objects []storage.Object
	for i, scope := range listScopes {
		for j := range 5 {
			objects = append(objects, putObject(t, store, scope, uint64(10*i+j), int64(j), int64(j)))
		}
	}
	slices.SortFunc(objects, func(a, b storage.Object) int { return strings.Compare(a.Key, b.Key) })
	return objects
}

func objectList(t *testing.T, store ObjectStore) {
	if objects, err := store.List(t.Context(), "", 10); err != nil || len(objects) != 0 {
		t.Errorf("an empty store lists %v, %v", objects, err)
	}
	want := fillObjects(t, store)
	for _, limit := range []int{1, 7, len(want), storage.MaxMany} {
		var got []storage.Object
		for after := ""; ; after = got[len(got)-1].Key {
			page, err := store.List(t.Context(), after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("List of %d behind %q: %d objects, %v", limit, after, len(page), err)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: got %v, want %v", limit, got, want)
		}
	}
	for _, limit := range []int{0, storage.MaxMany + 1} {
		if _, err := store.List(t.Context(), "", limit); err == nil {
			t.Errorf("List took the limit %d", limit)
		}
	}
}

func objectListAfter(t *testing.T, store ObjectStore) {
	all := fillObjects(t, store)
	for _, after := range []string{"A", "a", "a/", "a/sha256/8", "a-b/sha256", "a.b/sha256/00/", "b", "z", all[3].Key, all[3].Key + "0"} {
		n := slices.IndexFunc(all, func(o storage.Object) bool { return o.Key > after })
		want := ""
		if n >= 0 {
			want = all[n].Key
		}
		page, err := store.List(t.Context(), after, 1)
		if err != nil || len(page) > 1 || len(page) == 0 && want != "" || len(page) == 1 && page[0].Key != want {
			t.Errorf("behind %q: %v, %v; want %q", after, page, err, want)
		}
	}
}
