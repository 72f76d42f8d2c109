package snapshot

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
)

func task(name, digest string, at int64, arn string) Instance {
	return Instance{
		Digests:   map[string]string{name: digest},
		CreatedAt: at,
		Context:   &Context{ECS: &ECSContext{TaskARN: arn, ClusterName: new("cluster")}},
	}
}

func TestContextIsThatOfTheYoungestInstance(t *testing.T) {
	instances := []Instance{
		task("web:1", fingerprint("web"), 10, "old"), task("web:1", fingerprint("web"), 30, "young"),
		task("web:latest", fingerprint("web"), 20, "middle"), task("api:1", fingerprint("api"), 40, "other"),
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		random.Shuffle(len(instances), func(i, j int) { instances[i], instances[j] = instances[j], instances[i] })
		report := Canonical(evidence.ECS, instances)
		for _, image := range report.Fingerprints() {
			want := "young"
			if image.Fingerprint == fingerprint("api") {
				want = "other"
			}
			if got := image.Context.ECS.TaskARN; got != want {
				t.Fatalf("%s has the context of %s, want %s", image.Name, got, want)
			}
		}
	}
}

func TestContextsDoNotChangeTheDigest(t *testing.T) {
	before := Canonical(evidence.ECS, []Instance{task("web:1", fingerprint("web"), 1, "first")})
	after := Canonical(evidence.ECS, []Instance{task("web:1", fingerprint("web"), 2, "second")})
	if before.Digest() != after.Digest() {
		t.Error("another task made another digest")
	}
}

func TestUnknownDigestsResolveToWhatRunsUnderTheirName(t *testing.T) {
	const a, b = "a", "b"
	running := func(name, digest string, at int64) Artifact {
		return Artifact{Reported: Reported{Name: name, Fingerprint: fingerprint(digest), CreatedAt: []int64{at}}}
	}
	for what, c := range map[string]struct {
		before    []Artifact
		instances []Instance
		// want has the digest and the number of instances of each artifact, sorted.
		want []string
	}{
		"nothing is known":             {nil, []Instance{task("web", "", 1, "t")}, nil},
		"another name is known":        {[]Artifact{running("api", a, 1)}, []Instance{task("web", "", 1, "t")}, nil},
		"known":                        {[]Artifact{running("web", a, 1)}, []Instance{task("web", "", 1, "t")}, []string{"a 1"}},
		"the youngest of two":          {[]Artifact{running("web", a, 2), running("web", b, 1)}, []Instance{task("web", "", 1, "t")}, []string{"a 1"}},
		"the youngest of two, swapped": {[]Artifact{running("web", a, 1), running("web", b, 2)}, []Instance{task("web", "", 1, "t")}, []string{"b 1"}},
		"two names": {[]Artifact{running("web", a, 1), running("api", b, 1)},
			[]Instance{task("web", "", 1, "t"), task("api", "", 1, "t")}, []string{"a 1", "b 1"}},
		"two instances": {[]Artifact{running("web", a, 1)}, []Instance{task("web", "", 1, "t"), task("web", "", 2, "u")}, []string{"a 2"}},
		"beside the one that is known": {[]Artifact{running("web", a, 1)},
			[]Instance{task("web", "", 1, "t"), task("web", fingerprint(a), 2, "u")}, []string{"a 2"}},
		"beside another one": {[]Artifact{running("web", a, 1)},
			[]Instance{task("web", "", 1, "t"), task("web", fingerprint(b), 2, "u")}, []string{"a 1", "b 1"}},
		"two of two": {[]Artifact{running("web", a, 2), running("web", b, 1)},
			[]Instance{task("web", "", 1, "t"), task("web", "", 2, "u")}, []string{"a 1", "b 1"}},
		"three of two": {[]Artifact{running("web", a, 2), {Reported: Reported{Name: "web", Fingerprint: fingerprint(b), CreatedAt: []int64{1}}, Since: 1}},
			[]Instance{task("web", "", 1, "t"), task("web", "", 2, "u"), task("web", "", 3, "v")}, []string{"a 1", "b 2"}},
		"new beside a known one": {nil, []Instance{task("web", "", 1, "t"), task("web", fingerprint(b), 2, "u")}, []string{"b 2"}},
		"the youngest now of two that are known": {[]Artifact{running("web", a, 9), running("web", b, 8)},
			[]Instance{task("web", "", 1, "t"), task("web", fingerprint(a), 2, "u"), task("web", fingerprint(b), 3, "u")}, []string{"a 1", "b 2"}},
		"under its second name": {[]Artifact{{Reported: Reported{Name: "api", Names: []string{"api", "web"}, Fingerprint: fingerprint(a), CreatedAt: []int64{1}}}},
			[]Instance{task("web", "", 1, "t")}, []string{"a 1"}},
	} {
		report := Canonical(evidence.ECS, c.instances)
		var got []string
		for _, image := range report.Resolve(ByFingerprint(c.before)) {
			name := map[string]string{fingerprint(a): a, fingerprint(b): b}[image.Fingerprint]
			got = append(got, fmt.Sprint(name, " ", len(image.CreatedAt)))
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v run, want %v", what, got, c.want)
		}
	}
}

func TestResolvedReportsAreSortedAndHaveEachFingerprintOnce(t *testing.T) {
	var before []Artifact
	var instances []Instance
	for i := range 50 {
		name := fmt.Sprint("image-", i)
		before = append(before, Artifact{Reported: Reported{Name: name, Fingerprint: fingerprint(name), CreatedAt: []int64{1}}})
		instances = append(instances, task(name, "", 1, "t"), task(name+"-too", fingerprint(name), 2, "u"))
	}
	report := Canonical(evidence.ECS, instances)
	got := report.Resolve(ByFingerprint(before))
	if len(got) != 50 || !slices.IsSortedFunc(got, func(a, b Reported) int { return strings.Compare(a.Fingerprint, b.Fingerprint) }) {
		t.Errorf("%d artifacts, or out of order", len(got))
	}
	for _, image := range got {
		if len(image.CreatedAt) != 2 || image.Context.ECS.TaskARN != "u" {
			t.Errorf("%s has %v and the context of %s", image.Name, image.CreatedAt, image.Context.ECS.TaskARN)
		}
	}
}

// TestRepeatedReportHasTheSameResult resolves reports against what ran before, and then against their own result.
func TestRepeatedReportHasTheSameResult(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	instances := func() []Instance {
		var all []Instance
		for range random.IntN(6) {
			digest := ""
			if n := random.IntN(5); n > 0 {
				digest = fingerprint(fmt.Sprint(n))
			}
			all = append(all, task(fmt.Sprint("n", random.IntN(3)), digest, int64(random.IntN(3)), "t"))
		}
		return all
	}
	for range 5_000 {
		former := Canonical(evidence.ECS, instances())
		before := (&Input{Images: former.Resolve(nil)}).evaluate(&Snapshot{Number: 1})
		report := Canonical(evidence.ECS, instances())
		made := (&Input{Images: report.Resolve(ByFingerprint(before))}).evaluate(&Snapshot{Number: 2})
		again := (&Input{Images: report.Resolve(ByFingerprint(made))}).evaluate(&Snapshot{Number: 2})
		if string(encode(made)) != string(encode(again)) {
			t.Fatalf("%s\nbehind %s came to\n%s\nand then to\n%s", encode(report), encode(before), encode(made), encode(again))
		}
	}
}
