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
	owned := func(owners ...Owner) Instance {
		instance := pod("web-0", "a", "web:1", 1)
		instance.PodContext.Owners = owners
		return instance
	}
	run := func(context CloudRunContext) Instance {
		return Instance{Digests: map[string]string{"a": fingerprint("a")}, Context: &Context{CloudRun: &context}}
	}
	random := rand.New(rand.NewPCG(3, 4))
	for name, c := range map[string]struct {
		kind      evidence.EnvironmentType
		instances []Instance
	}{
		"pods": {evidence.K8S, []Instance{
			pod("api-1", "shop", "api:1", 30), pod("api-2", "shop", "api:1", 10),
			pod("cart-1", "shop", "cart:7", 20), pod("api-3", "shop", "api:2", 5),
		}},
		"pods of one name": {evidence.K8S, []Instance{pod("web-0", "b", "web:1", 1), pod("web-0", "a", "web:1", 2), pod("web-0", "c", "web:1", 3)}},
		"pods that differ in their owners alone": {evidence.K8S, []Instance{
			owned(), owned(Owner{Name: "x"}), owned(Owner{Name: "y"}), owned(Owner{Name: "x"}, Owner{Name: "y"}),
			owned(Owner{Name: "x", Controller: new(false)}), owned(Owner{Name: "x", Controller: new(true)}),
			owned(Owner{Name: "x", BlockOwnerDeletion: new(true)}),
		}},
		"contexts of one age": {evidence.CloudRun, []Instance{
			run(CloudRunContext{Kind: "job", JobName: new("x")}), run(CloudRunContext{Kind: "service", ServiceName: new("x")}),
			run(CloudRunContext{Kind: "service", RevisionName: new("x")}),
		}},
	} {
		want := string(encode(Canonical(c.kind, c.instances)))
		for range 20 {
			random.Shuffle(len(c.instances), func(i, j int) { c.instances[i], c.instances[j] = c.instances[j], c.instances[i] })
			if got := string(encode(Canonical(c.kind, c.instances))); got != want {
				t.Fatalf("%s: got %s, want %s", name, got, want)
			}
		}
	}
}

func TestDigestIgnoresOnlyRestarts(t *testing.T) {
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

func TestFingerprintsMergeNames(t *testing.T) {
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
