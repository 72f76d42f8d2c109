package snapshot

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"

	"attestry/evidence"
)

func podNames(pods map[string]Pod) []string { return slices.Sorted(maps.Keys(pods)) }

func TestCanonicalDoesNotReorderItsInstances(t *testing.T) {
	instances := []Instance{pod("b", "n", "web:1", 1), pod("a", "n", "web:1", 2)}
	Canonical(evidence.K8S, instances)
	if instances[0].Pod != "b" {
		t.Error("the caller's list was sorted")
	}
}

func TestPodsOfOneNameAreAllKeptWhenNamesOfAnImageAreMerged(t *testing.T) {
	same := fingerprint("image")
	tagged := func(image, namespace string) Instance {
		return Instance{
			Digests: map[string]string{image: same}, Pod: "web-0",
			PodContext: &Pod{Namespace: namespace},
		}
	}
	report := Canonical(evidence.K8S, []Instance{tagged("web:1", "a"), tagged("web:1.0", "b")})
	grouped := report.Fingerprints()
	want := []string{"b/web-0", "web-0"}
	if len(grouped) != 1 || !slices.Equal(podNames(grouped[0].Pods), want) {
		t.Errorf("got %v, want pods %v", grouped, want)
	}
	if pods := report.Artifacts[0].Pods; len(pods) != 1 {
		t.Errorf("uniting changed the report: %v", pods)
	}
}

// TestMergingManyNamesOfOneImageTakesLinearMemory measures memory, which does not depend on the speed of the machine.
// It must not grow quadratically.
func TestMergingManyNamesOfOneImageTakesLinearMemory(t *testing.T) {
	const names = 20_000
	digests := make(map[string]string, names)
	for i := range names {
		digests[fmt.Sprintf("/srv/%d/__init__.py", i)] = fingerprint("empty file")
	}
	report := Canonical(evidence.Server, []Instance{{Digests: digests, CreatedAt: 7}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	grouped := report.Fingerprints()
	runtime.ReadMemStats(&after)
	if len(grouped) != 1 || len(grouped[0].CreatedAt) != names {
		t.Fatalf("%d artifacts", len(grouped))
	}
	allocated := after.TotalAlloc - before.TotalAlloc
	if most := uint64(64 << 20); allocated > most {
		t.Errorf("%d bytes taken for %d names", allocated, names)
	}
}
