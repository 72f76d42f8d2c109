package snapshots

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"attestry/api/jsonstream"
	"attestry/evidence/snapshot"
)

func TestAppliedPoliciesListAllArtifactsThatFail(t *testing.T) {
	passes, fails := snapshot.Decision{Rules: "s"}, snapshot.Decision{Rules: "p"}
	var artifacts []snapshot.Artifact
	want := [][]string{nil, nil}
	for i := range 2*artifactsPerPart + 1 {
		one := snapshot.Artifact{Reported: snapshot.Reported{Fingerprint: fmt.Sprint(i)}, Decisions: []snapshot.Decision{passes, passes}}
		for number, every := range []int{5, artifactsPerPart} {
			if i%every == 0 {
				one.Decisions[number] = fails
				want[number] = append(want[number], one.Fingerprint)
			}
		}
		artifacts = append(artifacts, one)
	}
	for number := range want {
		var shown []FailingArtifact
		if err := json.NewDecoder(jsonstream.NewReader(t.Context(), failingArtifacts(artifacts, number), false)).Decode(&shown); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range shown {
			got = append(got, one.Fingerprint)
		}
		if !slices.Equal(got, want[number]) {
			t.Errorf("policy %d: %d artifacts fail, want %d", number, len(got), len(want[number]))
		}
	}
}
