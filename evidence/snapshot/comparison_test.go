package snapshot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSnapshotsAreComparedByFingerprint(t *testing.T) {
	running := func(fingerprint string, instances int) Artifact {
		return Artifact{Reported: Reported{Fingerprint: fingerprint, Name: fingerprint, CreatedAt: make([]int64, instances)}}
	}
	got := Compare(
		[]Artifact{running("a", 1), running("b", 2), running("c", 3), running("e", 1)},
		[]Artifact{running("b", 2), running("c", 4), running("d", 1)})
	if summary := summaryOf(got); summary != "first [a1 e1] second [d1] changed [c3-4] same [b2-2]" {
		t.Errorf("got %s", summary)
	}
	if summary := summaryOf(Compare(nil, []Artifact{running("a", 1)})); summary != "first [] second [a1] changed [] same []" {
		t.Errorf("with nothing: %s", summary)
	}
}

// summaryOf writes a comparison in the order of fingerprints.
func summaryOf(c Comparison) string {
	one := func(artifacts []Artifact) []string {
		var summary []string
		for _, a := range artifacts {
			summary = append(summary, fmt.Sprintf("%s%d", a.Fingerprint, a.Instances()))
		}
		slices.Sort(summary)
		return summary
	}
	both := func(pairs []Pair) []string {
		var summary []string
		for _, p := range pairs {
			summary = append(summary, fmt.Sprintf("%s%d-%d", p.First.Fingerprint, p.First.Instances(), p.Second.Instances()))
		}
		slices.Sort(summary)
		return summary
	}
	return fmt.Sprintf("first %v second %v changed %v same %v", one(c.OnlyFirst), one(c.OnlySecond), both(c.Changed), both(c.Same))
}

// TestTreesCompareLikeLists removes, adds and scales some of many artifacts.
func TestTreesCompareLikeLists(t *testing.T) {
	for _, n := range []int{0, 1, 40, 3_000} {
		first := artifactsNamed(n, "a")
		second := slices.Clone(first)
		random := rand.New(rand.NewPCG(uint64(n), 1))
		for range n / 40 {
			i := random.IntN(len(second))
			second[i].CreatedAt = append(slices.Clone(second[i].CreatedAt), 1)
			second = slices.Delete(second, i/2, i/2+1)
		}
		second = append(second, artifactsNamed(n/30, "b")...)
		sortByFingerprint(second)

		former, latter := new(Tree).Next(first), new(Tree).Next(second)
		calls := 0
		got, err := CompareTree(former.Root, &latter, countingFetch(former, &calls))
		if err != nil {
			t.Fatal(err)
		}
		if want := Compare(first, second); summaryOf(got) != summaryOf(want) {
			t.Errorf("%d artifacts: the trees differ by\n%s, the lists by\n%s", n, summaryOf(got), summaryOf(want))
		}
		if calls > 4 {
			t.Errorf("%d artifacts: comparing took %d fetches", n, calls)
		}
	}
}

func TestSharedChunksAreNotFetched(t *testing.T) {
	artifacts := artifactsNamed(5_000, "a")
	tree := new(Tree).Next(artifacts)
	got, err := CompareTree(tree.Root, &tree, func([]string) ([]Chunk, error) { return nil, errors.New("fetched") })
	if err != nil || len(got.Same) != len(artifacts) || len(got.OnlyFirst)+len(got.OnlySecond)+len(got.Changed) > 0 {
		t.Errorf("%d are the same, %v", len(got.Same), err)
	}
}

func TestComparingFailsIfAChunkIsMissing(t *testing.T) {
	tree := new(Tree).Next(artifactsNamed(50, "a"))
	broken := errors.New("away")
	if _, err := CompareTree("other", &tree, func([]string) ([]Chunk, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
