package snapshot

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestNextTreeEqualsANewTree changes some artifacts of a tree in any way.
func TestNextTreeEqualsANewTree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		before := artifactsNamed(1+random.IntN(300), "a")
		for i := range before {
			before[i].Origins = []Origin{{}}
			before[i].Pods = map[string]Pod{"p": {CreatedAt: 1, Owners: []Owner{{Kind: "ReplicaSet"}}}}
		}
		tree := new(Tree).Next(before)
		after := mutate(random, tree.Artifacts())
		if next, anew := tree.Next(after), new(Tree).Next(after); next.Root != anew.Root || len(next.Chunks) != len(anew.Chunks) {
			t.Fatalf("round %d: another tree", round)
		}
	}
}

// TestNextTreeDetectsADifferenceInAnyMember changes one member of one artifact, alone in its leaf and among others.
func TestNextTreeDetectsADifferenceInAnyMember(t *testing.T) {
	verdict := true
	for i, change := range []func(*Artifact){
		func(a *Artifact) { a.Name += "x" },
		func(a *Artifact) { a.Names = []string{"a", "b"} },
		func(a *Artifact) { a.CreatedAt = []int64{9} },
		func(a *Artifact) { a.CreatedAt = nil },
		func(a *Artifact) { a.CreatedAt = []int64{} },
		func(a *Artifact) { a.Pods = map[string]Pod{"p": {Owners: []Owner{{}}}} },
		func(a *Artifact) { a.Pods = nil },
		func(a *Artifact) { a.Pods = map[string]Pod{"q": {Namespace: "x", Owners: []Owner{{}}}} },
		func(a *Artifact) { a.Pods = map[string]Pod{"q": {CreatedAt: 1, Owners: []Owner{{}}}} },
		func(a *Artifact) { a.Pods = map[string]Pod{"q": {}} },
		func(a *Artifact) { a.Pods = map[string]Pod{"q": {Owners: []Owner{}}} },
		func(a *Artifact) { a.Pods = map[string]Pod{"q": {Owners: []Owner{{UID: "x"}}}} },
		func(a *Artifact) { a.Pods = map[string]Pod{"q": {Owners: []Owner{{Controller: new(true)}}}} },
		func(a *Artifact) { a.Pods = map[string]Pod{"q": {Owners: []Owner{{BlockOwnerDeletion: new(true)}}}} },
		func(a *Artifact) { a.Context = &Context{ECS: &ECSContext{TaskARN: "x"}} },
		func(a *Artifact) { a.Compliant = &verdict },
		func(a *Artifact) { a.Decisions = []Decision{{}} },
		func(a *Artifact) { a.Allowed = true },
		func(a *Artifact) { a.Since++ },
		func(a *Artifact) { a.StartedAt++ },
		func(a *Artifact) { a.FirstAt++ },
		func(a *Artifact) { a.Origins = []Origin{{Status: "x"}} },
	} {
		for _, n := range []int{1, 100} {
			t.Run(fmt.Sprint("member ", i, " among ", n), func(t *testing.T) {
				before := artifactsNamed(n, "a")
				before[n/2].Pods = map[string]Pod{"q": {Owners: []Owner{{}}}}
				tree := new(Tree).Next(before)
				after := tree.Artifacts()
				change(&after[n/2])
				if next, anew := tree.Next(after), new(Tree).Next(after); next.Root == tree.Root || next.Root != anew.Root {
					t.Error("the difference is not in the tree")
				}
			})
		}
	}
}

func TestNextTreeEncodesOnlyLeavesThatDiffer(t *testing.T) {
	for changed := range 2 {
		t.Run(fmt.Sprint(changed, " changed"), func(t *testing.T) {
			before := artifactsNamed(1000, "a")
			for i := range before {
				before[i].Names, before[i].Origins, before[i].Context = []string{"x", "y"}, []Origin{{}}, &Context{ECS: &ECSContext{}}
				before[i].Pods = map[string]Pod{"p": {CreatedAt: 1, Owners: []Owner{{Kind: "ReplicaSet", Controller: new(true)}}}}
			}
			tree := new(Tree).Next(before)
			after := tree.Artifacts()
			for i := range changed {
				after[500+i].Since++
			}
			encoded := 0
			for _, chunk := range tree.Next(after).Chunks {
				if len(chunk.Artifacts) > 0 && chunk.encoding != nil {
					encoded++
				}
			}
			if encoded != changed {
				t.Errorf("%d leaves were encoded for %d changed artifacts", encoded, changed)
			}
		})
	}
}
