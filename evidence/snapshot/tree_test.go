package snapshot

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"attestry/evidence/evidencetest"
)

func artifactsNamed(n int, generation string) []Artifact {
	artifacts := make([]Artifact, 0, n)
	for i := range n {
		artifacts = append(artifacts, Artifact{
			Reported: Reported{Fingerprint: fingerprint(fmt.Sprintf("%s-%d", generation, i)), Name: fmt.Sprintf("registry.example.com/service-%d", i), CreatedAt: []int64{int64(i)}},
		})
	}
	sortByFingerprint(artifacts)
	return artifacts
}

// countingFetch serves chunks of a tree and counts the calls.
func countingFetch(tree Tree, calls *int) Fetch {
	return func(ids []string) ([]Chunk, error) {
		*calls++
		chunks := make([]Chunk, 0, len(ids))
		for _, id := range ids {
			chunk, ok := tree.Chunks[id]
			if !ok {
				return nil, fmt.Errorf("chunk %s is not there", id)
			}
			chunks = append(chunks, chunk)
		}
		return chunks, nil
	}
}

func TestTreeLoadsTheArtifactsItWasMadeFrom(t *testing.T) {
	for _, n := range []int{0, 1, 2, 31, 128, 129, 1_000, 10_000} {
		artifacts := artifactsNamed(n, "a")
		tree := new(Tree).Next(artifacts)
		calls := 0
		loaded, err := Load(tree.Root, countingFetch(tree, &calls))
		evidencetest.Must(t, err)
		got := loaded.Artifacts()
		if !slices.EqualFunc(got, artifacts, sameArtifact) {
			t.Errorf("%d artifacts: the tree gave back %d others", n, len(got))
		}
		if calls > 4 {
			t.Errorf("%d artifacts: reading took %d fetches", n, calls)
		}
	}
}

func TestTreeKnowsChunksByTheirContent(t *testing.T) {
	tree := new(Tree).Next(artifactsNamed(500, "a"))
	for id, chunk := range tree.Chunks {
		if chunk.ID() != id {
			t.Fatalf("chunk %s has the content of %s", id, chunk.ID())
		}
		if n := len(chunk.Artifacts) + len(chunk.Children); n == 0 || n > maxChunk {
			t.Errorf("chunk %s has %d entries", id, n)
		}
	}
}

func TestOneReplacedArtifactMakesFewChunks(t *testing.T) {
	for _, n := range []int{1_000, 10_000, 50_000} {
		before := artifactsNamed(n, "a")
		after := slices.Clone(before)
		after[n/2] = Artifact{Reported: Reported{Fingerprint: fingerprint("new"), Name: "new", CreatedAt: []int64{1}}}
		sortByFingerprint(after)
		former, latter := new(Tree).Next(before), new(Tree).Next(after)
		calls := 0
		difference, err := latter.Compare(former.Root, countingFetch(former, &calls))
		evidencetest.Must(t, err)
		// Two leaves, and at most two chunks on each of at most four levels above.
		if len(difference.Chunks) > 10 {
			t.Errorf("%d artifacts, one replaced: %d new chunks", n, len(difference.Chunks))
		}
		if calls > 5 {
			t.Errorf("%d artifacts: comparing took %d fetches", n, calls)
		}
	}
}

func TestCompareFindsExactlyWhatDiffers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		before := artifactsNamed(random.IntN(800), "a")
		after := mutate(random, before)
		former, latter := new(Tree).Next(before), new(Tree).Next(after)
		calls := 0
		difference, err := latter.Compare(former.Root, countingFetch(former, &calls))
		evidencetest.Must(t, err)
		got := Diff(difference.Before, difference.After)
		want := Diff(before, after)
		if !slices.EqualFunc(got, want, func(a, b Change) bool { return string(encode(a)) == string(encode(b)) }) {
			t.Fatalf("round %d: %d changes by tree, %d by full comparison", round, len(got), len(want))
		}
		assertComplete(t, former, latter, difference)
	}
}

// assertComplete checks that the earlier chunks and the new ones together hold the whole latter tree.
func assertComplete(t *testing.T, former, latter Tree, difference Difference) {
	t.Helper()
	for id := range latter.Chunks {
		_, known := former.Chunks[id]
		_, fresh := difference.Chunks[id]
		if !known && !fresh {
			t.Fatalf("chunk %s would be lost", id)
		}
	}
	for id := range former.Chunks {
		if _, kept := latter.Chunks[id]; kept == slices.Contains(difference.Superseded, id) {
			t.Fatalf("chunk %s: kept is %v, and so is superseded", id, kept)
		}
	}
}

func mutate(random *rand.Rand, artifacts []Artifact) []Artifact {
	var after []Artifact
	for _, artifact := range artifacts {
		switch random.IntN(20) {
		case 0:
			continue
		case 1:
			artifact.CreatedAt = append(slices.Clone(artifact.CreatedAt), 9)
		case 2:
			verdict := random.IntN(2) == 0
			artifact.Compliant = &verdict
		}
		after = append(after, artifact)
	}
	for i := range random.IntN(30) {
		after = append(after, Artifact{Reported: Reported{Fingerprint: fingerprint(fmt.Sprintf("new-%d", i)), CreatedAt: []int64{5}}})
	}
	sortByFingerprint(after)
	return after
}

func sameArtifact(a, b Artifact) bool { return string(encode(a)) == string(encode(b)) }

// TestTreesAreLoadedTogetherLevelByLevel loads trees that share chunks.
func TestTreesAreLoadedTogetherLevelByLevel(t *testing.T) {
	all := Tree{Chunks: map[string]Chunk{}}
	var trees []Tree
	var roots []string
	for _, n := range []int{0, 1, 40, 2_000, 2_001, 40} {
		var artifacts []Artifact
		for i := range n {
			artifacts = append(artifacts, Artifact{Reported: Reported{Fingerprint: fingerprint(fmt.Sprint(i))}})
		}
		sortByFingerprint(artifacts)
		tree := new(Tree).Next(artifacts)
		trees, roots = append(trees, tree), append(roots, tree.Root)
		maps.Copy(all.Chunks, tree.Chunks)
	}
	fetches, seen := 0, map[string]int{}
	loaded, err := LoadAll(roots, func(ids []string) ([]Chunk, error) {
		fetches++
		for _, id := range ids {
			seen[id]++
		}
		return all.Fetch(ids)
	})
	if err != nil || len(loaded) != len(trees) {
		t.Fatalf("%d trees, %v", len(loaded), err)
	}
	for i := range loaded {
		if !bytes.Equal(encode(loaded[i].Artifacts()), encode(trees[i].Artifacts())) || loaded[i].Root != roots[i] {
			t.Errorf("tree %d differs", i)
		}
	}
	if fetches > 4 || len(seen) != len(all.Chunks) {
		t.Errorf("%d fetches of %d chunks, of %d", fetches, len(seen), len(all.Chunks))
	}
	for id, n := range seen {
		if n > 1 {
			t.Errorf("chunk %s is fetched %d times", id, n)
		}
	}
	if _, err := LoadAll([]string{"none"}, all.Fetch); err == nil {
		t.Error("a root that is not there loads")
	}
}
