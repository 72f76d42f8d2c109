package environments

import (
	"testing"

	"attestry/evidence/snapshot"
)

// TestSupersededChunksAreForgotten keeps the chunks of two successive snapshots in memory.
func TestSupersededChunksAreForgotten(t *testing.T) {
	kept := newTestChunks()
	former := new(snapshot.Tree).Next([]snapshot.Artifact{{Reported: snapshot.Reported{Fingerprint: "a"}}})
	latter := new(snapshot.Tree).Next([]snapshot.Artifact{{Reported: snapshot.Reported{Fingerprint: "b"}}})
	for _, tree := range []snapshot.Tree{former, latter} {
		kept.keep(tree.Root, tree.Chunks[tree.Root])
	}
	difference, err := latter.Compare(former.Root, former.Fetch)
	if err != nil {
		t.Fatal(err)
	}
	kept.Forget(difference.Superseded)
	if _, ok := kept.cached.Get(former.Root); ok {
		t.Error("the chunk of the former snapshot is kept")
	}
	if _, ok := kept.cached.Get(latter.Root); !ok {
		t.Error("the chunk of the latter snapshot is forgotten")
	}
}
