package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"attestry/evidence"
)

func fingerprint(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return hex.EncodeToString(sum[:])
}

func pod(name, namespace, image string, at int64) Instance {
	return Instance{
		Digests:    map[string]string{image: fingerprint(image)},
		CreatedAt:  at,
		Pod:        name,
		PodContext: &Pod{Namespace: namespace, CreatedAt: at},
	}
}

func TestCanonicalDoesNotDependOnTheOrderOfInstances(t *testing.T) {
	instances := []Instance{
		pod("api-1", "shop", "api:1", 30), pod("api-2", "shop", "api:1", 10),
		pod("cart-1", "shop", "cart:7", 20), pod("api-3", "shop", "api:2", 5),
	}
	want := string(encode(Canonical(evidence.K8S, instances)))
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		random.Shuffle(len(instances), func(i, j int) { instances[i], instances[j] = instances[j], instances[i] })
		if got := string(encode(Canonical(evidence.K8S, instances))); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func TestDigestIgnoresRestartsAndSeesEverythingElse(t *testing.T) {
	base := []Instance{pod("a", "n", "api:1", 1), pod("b", "n", "api:1", 2)}
	digest := func(instances ...Instance) string {
		report := Canonical(evidence.K8S, instances)
		return report.Digest()
	}
	want := digest(base...)
	if got := digest(pod("x", "n", "api:1", 100), pod("y", "m", "api:1", 200)); got != want {
		t.Error("new pod names and times changed the digest")
	}
	renamed := pod("b", "n", "api:1", 2)
	renamed.Digests = map[string]string{"other": fingerprint("api:1")}
	for what, instances := range map[string][]Instance{
		"one instance less":   base[:1],
		"another fingerprint": {base[0], pod("b", "n", "api:2", 2)},
		"another name":        {base[0], renamed},
		"nothing":             nil,
	} {
		if digest(instances...) == want {
			t.Errorf("%s did not change the digest", what)
		}
	}
}

func TestDigestCannotBeForgedByNames(t *testing.T) {
	a := Report{Artifacts: []Reported{{Name: "x", Fingerprint: "f", CreatedAt: []int64{1}}, {Name: "y", Fingerprint: "f", CreatedAt: []int64{1}}}}
	b := Report{Artifacts: []Reported{{Name: "x\" f 1\n\"y", Fingerprint: "f", CreatedAt: []int64{1}}}}
	if a.Digest() == b.Digest() {
		t.Error("a name with a line break forges two artifacts")
	}
}

func TestFingerprintsUniteNames(t *testing.T) {
	same := fingerprint("image")
	report := Canonical(evidence.Docker, []Instance{
		{Digests: map[string]string{"web:latest": same}, CreatedAt: 5},
		{Digests: map[string]string{"web:1.0": same}, CreatedAt: 3},
	})
	grouped := report.Fingerprints()
	if len(grouped) != 1 {
		t.Fatalf("%d artifacts for one fingerprint", len(grouped))
	}
	if grouped[0].Name != "web:1.0" || !slices.Equal(grouped[0].CreatedAt, []int64{3, 5}) {
		t.Errorf("united to %+v", grouped[0])
	}
}

func TestPodsOfOneNameInTwoNamespacesAreBothKept(t *testing.T) {
	report := Canonical(evidence.K8S, []Instance{pod("api-0", "blue", "api:1", 1), pod("api-0", "green", "api:1", 2)})
	pods := report.Artifacts[0].Pods
	if len(pods) != 2 {
		t.Fatalf("kept %d pods: %v", len(pods), pods)
	}
}
