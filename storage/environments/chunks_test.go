package environments

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage/cache"
)

func newTestChunks() *Snapshots {
	return &Snapshots{cached: cache.NewLRU[snapshot.Chunk](maxCachedBytes)}
}

// The cached chunk is a part of larger slices, which the garbage collector must be able to free.
func TestCachedChunkDoesNotKeepTheWholeReportInMemory(t *testing.T) {
	kept := newTestChunks()
	cache := kept.cached
	artifacts := make([]snapshot.Artifact, 10_000)
	changes := make([]snapshot.Change, 10_000)
	children := make([]string, 10_000)
	kept.keep("one", snapshot.Chunk{Artifacts: artifacts[:1:1], Changes: changes[:1:1], Children: children[:1:1]})
	freed := []func() bool{isFreed(&artifacts[1]), isFreed(&changes[1]), isFreed(&children[1])}
	runtime.GC()
	for i, isFreed := range freed {
		if !isFreed() {
			t.Errorf("the chunk keeps the whole of list %d in memory", i)
		}
	}
	if chunk, ok := cache.Get("one"); !ok || len(chunk.Artifacts) != 1 || len(chunk.Changes) != 1 || len(chunk.Children) != 1 {
		t.Errorf("the chunk is %v, %+v", ok, chunk)
	}
}

func isFreed[T any](value *T) func() bool {
	pointer := weak.Make(value)
	return func() bool { return pointer.Value() == nil }
}

func TestChunkCacheIsBoundedByBytes(t *testing.T) {
	kept := newTestChunks()
	cache := kept.cached
	pods := map[string]snapshot.Pod{}
	for i := range 1_000 {
		pods[fmt.Sprint("pod-", i)] = snapshot.Pod{Namespace: strings.Repeat("n", 1_000)}
	}
	for i := range 200 {
		kept.keep(fmt.Sprint(i), snapshot.Chunk{Artifacts: []snapshot.Artifact{{Reported: snapshot.Reported{Name: "image", Pods: pods}}}})
	}
	held := 0
	for i := range 200 {
		if _, ok := cache.Get(fmt.Sprint(i)); ok {
			held++
		}
	}
	if held == 0 || held > 64 {
		t.Errorf("%d chunks of a megabyte each are held", held)
	}
	if _, ok := cache.Get("199"); !ok {
		t.Error("the newest chunk is not held")
	}
}

func TestChunkLargerThanTheCacheIsNotHeld(t *testing.T) {
	kept := newTestChunks()
	cache := kept.cached
	huge := snapshot.Chunk{Artifacts: []snapshot.Artifact{{Reported: snapshot.Reported{Name: strings.Repeat("n", 64<<20)}}}}
	kept.keep("small", snapshot.Chunk{Children: []string{"x"}})
	kept.keep("huge", huge)
	if _, ok := cache.Get("huge"); ok {
		t.Error("the huge chunk is held")
	}
}

// TestLargeEnvironmentStaysInMemory checks that the cache holds all chunks of an environment of 10,000 artifacts, each
// of which has two origins with predecessors.
func TestLargeEnvironmentStaysInMemory(t *testing.T) {
	url := "https://github.com/organization/repository/commit/0123456789abcdef0123456789abcdef01234567"
	origin := evidence.Origin{
		Flow: evidence.NewID(), Trail: "component-00001-0123456789ab", Slot: "component-00001", Record: evidence.NewID(),
		Repo: evidence.NewID(), CommitSHA: url[len(url)-40:], CommitURL: url,
		Commit: &evidence.GitCommit{
			SHA1: url[len(url)-40:], Message: new("Change the colour of the button"), Author: new("A. Person <person@example.com>"),
			Branch: new("main"), URL: &url,
		},
	}
	known := snapshot.Origin{Origin: origin, Previous: &snapshot.Predecessor{
		Fingerprint: strings.Repeat("f", 64), Name: "registry.example.com/team-00/component-00001:1.4.2", Origin: origin,
	}}
	artifacts := make([]snapshot.Artifact, 0, 10_000)
	for i := range cap(artifacts) {
		artifacts = append(artifacts, snapshot.Artifact{
			Reported: snapshot.Reported{Fingerprint: fmt.Sprintf("%064x", i), Name: known.Previous.Name, CreatedAt: []int64{1_789_000_000}, Pods: map[string]snapshot.Pod{"service-0000-0123456789-01234": {
				Namespace: "team-00",
				Owners:    []snapshot.Owner{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "service-0000-0123456789", UID: evidence.NewID()}},
			}}},
			Origins: []snapshot.Origin{known, known},
		})
	}
	tree, kept := new(snapshot.Tree).Next(artifacts), newTestChunks()
	for id, chunk := range tree.Chunks {
		kept.keep(id, chunk)
	}
	for id := range tree.Chunks {
		if _, ok := kept.cached.Get(id); !ok {
			t.Fatalf("chunk %s is dropped", id)
		}
	}
}
