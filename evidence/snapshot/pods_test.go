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

func TestCanonicalDoesNotDependOnTheOrderOfPodsOfOneName(t *testing.T) {
	instances := []Instance{pod("web-0", "b", "web:1", 1), pod("web-0", "a", "web:1", 2), pod("web-0", "c", "web:1", 3)}
	want := string(encode(Canonical(evidence.K8S, instances)))
	for range len(instances) {
		instances = append(instances[1:], instances[0])
		if got := string(encode(Canonical(evidence.K8S, instances))); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

func TestCanonicalDoesNotDependOnTheOrderOfPodsThatDifferInTheirOwnersAlone(t *testing.T) {
	owned := func(owners ...Owner) Instance {
		instance := pod("web-0", "a", "web:1", 1)
		instance.PodContext.Owners = owners
		return instance
	}
	instances := []Instance{
		owned(), owned(Owner{Name: "x"}), owned(Owner{Name: "y"}), owned(Owner{Name: "x"}, Owner{Name: "y"}),
		owned(Owner{Name: "x", Controller: new(false)}), owned(Owner{Name: "x", Controller: new(true)}),
		owned(Owner{Name: "x", BlockOwnerDeletion: new(true)}),
	}
	want := string(encode(Canonical(evidence.K8S, instances)))
	for range len(instances) {
		instances = append(instances[1:], instances[0])
		if got := string(encode(Canonical(evidence.K8S, instances))); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

func TestCanonicalLeavesItsInstancesInOrder(t *testing.T) {
	instances := []Instance{pod("b", "n", "web:1", 1), pod("a", "n", "web:1", 2)}
	Canonical(evidence.K8S, instances)
	if instances[0].Pod != "b" {
		t.Error("the caller's list was sorted")
	}
}

func TestPodsOfOneNameAreAllKeptWhenNamesOfAnImageUnite(t *testing.T) {
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

// TestManyNamesOfOneImageAreUnitedInOneGo pins by the memory taken, which does not
// depend on the machine's speed, that the work does not grow with the square.
func TestManyNamesOfOneImageAreUnitedInOneGo(t *testing.T) {
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
	taken := after.TotalAlloc - before.TotalAlloc
	if most := uint64(64 << 20); taken > most {
		t.Errorf("%d bytes taken for %d names", taken, names)
	}
}
