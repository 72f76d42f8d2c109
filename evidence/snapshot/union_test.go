package snapshot

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"attestry/evidence"
)

func TestUnionAddsUpTheInstancesOfItsMembers(t *testing.T) {
	yes, no := true, false
	one := func(name string, verdict *bool, at ...int64) Artifact {
		return Artifact{Reported: Reported{Fingerprint: fingerprint("x"), Name: name, CreatedAt: at}, Compliant: verdict, StartedAt: float64(at[0]), FirstAt: float64(at[0])}
	}
	for what, c := range map[string]struct {
		members [][]Artifact
		want    string
	}{
		"no members":           {nil, "[]"},
		"empty members":        {[][]Artifact{nil, {}}, "[]"},
		"one":                  {[][]Artifact{nil, {one("a", &yes, 5, 6)}}, "[a [5 6] true 5]"},
		"two":                  {[][]Artifact{{one("b", &yes, 5, 7)}, {one("a", &yes, 6)}}, "[b [5 6 7] true 5]"},
		"one is not compliant": {[][]Artifact{{one("a", &yes, 5)}, {one("a", &no, 4)}, {one("a", nil, 4)}}, "[a [4 4 5] false 4]"},
		"one has no verdict":   {[][]Artifact{{one("a", nil, 5)}, {one("a", &yes, 5)}}, "[a [5 5] null 5]"},
	} {
		got := []string{}
		for _, artifact := range Union(c.members) {
			got = append(got, fmt.Sprintf("%s %v %s %v", artifact.Name, artifact.CreatedAt, encode(artifact.Compliant), artifact.StartedAt))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: got %v, want %s", what, got, c.want)
		}
	}
}

// TestUnionHasEveryInstanceOnce compares the union of random members with all instances and pods of the members.
func TestUnionHasEveryInstanceOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var members [][]Artifact
		instances := map[string][]int64{}
		pods := map[string]map[string]bool{}
		for m := range random.IntN(5) {
			var member []Artifact
			for f := range 6 {
				if random.IntN(2) == 0 {
					continue
				}
				artifact := Artifact{Reported: Reported{Fingerprint: fingerprint(fmt.Sprint(f)), Pods: map[string]Pod{}}}
				if pods[artifact.Fingerprint] == nil {
					pods[artifact.Fingerprint] = map[string]bool{}
				}
				for p := range random.IntN(3) + 1 {
					at := int64(random.IntN(9))
					artifact.CreatedAt = append(artifact.CreatedAt, at)
					artifact.Pods[fmt.Sprint("pod-", p)] = Pod{Namespace: fmt.Sprint(m), CreatedAt: at}
					pods[artifact.Fingerprint][fmt.Sprint(m, "/", p)] = true
				}
				slices.Sort(artifact.CreatedAt)
				instances[artifact.Fingerprint] = append(instances[artifact.Fingerprint], artifact.CreatedAt...)
				member = append(member, artifact)
			}
			sortByFingerprint(member)
			members = append(members, member)
		}
		before := string(encode(members))
		united := Union(members)
		if string(encode(members)) != before {
			t.Fatal("the members have been changed")
		}
		if !slices.IsSortedFunc(united, func(a, b Artifact) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) }) || len(united) != len(instances) {
			t.Fatalf("%d artifacts of %d, or out of order", len(united), len(instances))
		}
		for _, artifact := range united {
			want := instances[artifact.Fingerprint]
			if slices.Sort(want); !slices.Equal(artifact.CreatedAt, want) {
				t.Fatalf("%v run, want %v", artifact.CreatedAt, want)
			}
			if len(artifact.Pods) != len(pods[artifact.Fingerprint]) {
				t.Fatalf("%d pods of %d: %v", len(artifact.Pods), len(pods[artifact.Fingerprint]), artifact.Pods)
			}
		}
	}
}

func TestUnionKeepsEveryPodUnderItsOwnName(t *testing.T) {
	running := func(pods map[string]Pod) []Artifact {
		return []Artifact{{Reported: Reported{Fingerprint: "f", Pods: pods}}}
	}
	one := func(namespace string, at int64) []Artifact {
		return running(map[string]Pod{"pg-0": {Namespace: namespace, CreatedAt: at}})
	}
	for name, row := range map[string]struct {
		members [][]Artifact
		want    string
	}{
		"one member":       {[][]Artifact{nil, one("db", 1)}, "map[pg-0:1]"},
		"no pods":          {[][]Artifact{running(nil), running(nil)}, "map[]"},
		"other namespaces": {[][]Artifact{one("db", 1), one("qa", 2)}, "map[pg-0:1 qa/pg-0:2]"},
		"one namespace":    {[][]Artifact{one("db", 1), one("db", 2), one("db", 3)}, "map[db/pg-0:2 db/pg-0#2:3 pg-0:1]"},
		"a namespace of two later members": {[][]Artifact{one("qa", 1), one("db", 2), one("db", 3)},
			"map[db/pg-0:2 db/pg-0#2:3 pg-0:1]"},
		"members with two namespaces": {[][]Artifact{
			running(map[string]Pod{"pg-0": {Namespace: "db", CreatedAt: 1}, "qa/pg-0": {Namespace: "qa", CreatedAt: 2}}),
			running(map[string]Pod{"pg-0": {Namespace: "db", CreatedAt: 3}, "qa/pg-0": {Namespace: "qa", CreatedAt: 4}}),
		}, "map[db/pg-0:3 pg-0:1 qa/pg-0:2 qa/pg-0#2:4]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]int64{}
			for name, pod := range Union(row.members)[0].Pods {
				got[name] = pod.CreatedAt
			}
			if fmt.Sprint(got) != row.want {
				t.Errorf("pods are %v, want %s", got, row.want)
			}
		})
	}
}

// TestUnionHasTheContextOfItsNewestInstance merges artifacts that only differ in the start of their instance.
func TestUnionHasTheContextOfItsNewestInstance(t *testing.T) {
	one := func(member string, at int64) []Artifact {
		return []Artifact{{
			Reported: Reported{Fingerprint: "f", CreatedAt: []int64{at}, Context: &Context{ECS: &ECSContext{TaskARN: member}}},
			FirstAt:  float64(at), Origins: []Origin{{Origin: evidence.Origin{Trail: member}}},
		}}
	}
	unknown := one("c", 5)
	unknown[0].Origins = nil
	for name, row := range map[string]struct {
		members        [][]Artifact
		context, trail string
		first          float64
	}{
		"the first is newer":         {[][]Artifact{one("a", 6), one("b", 5)}, "a", "a", 5},
		"the second is newer":        {[][]Artifact{one("a", 5), one("b", 6)}, "b", "a", 5},
		"both are as new":            {[][]Artifact{one("a", 5), one("b", 5)}, "a", "a", 5},
		"no flow known to the first": {[][]Artifact{unknown, one("b", 4)}, "c", "b", 4},
	} {
		t.Run(name, func(t *testing.T) {
			got := Union(row.members)[0]
			if got.Context.ECS.TaskARN != row.context || got.Origins[0].Trail != row.trail || got.FirstAt != row.first {
				t.Errorf("context of %s, origin in %s, first at %v", got.Context.ECS.TaskARN, got.Origins[0].Trail, got.FirstAt)
			}
		})
	}
}
