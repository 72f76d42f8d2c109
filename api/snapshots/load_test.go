package snapshots

import (
	"testing"

	"attestry/evidence/snapshot"
)

func TestVerdictsOfLogicalSnapshotsChangedByWhatTheMemberSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		member snapshot.Change
		want   snapshot.Changer
	}{
		"the member says it":             {snapshot.Change{Type: snapshot.BecameNonCompliant, By: snapshot.ByPolicies}, snapshot.ByPolicies},
		"an earlier version made it":     {snapshot.Change{Type: snapshot.BecameNonCompliant}, ""},
		"it began to run there":          {snapshot.Change{Type: snapshot.StartedNonCompliant}, snapshot.ByEvidence},
		"it ceased to run there":         {snapshot.Change{Type: snapshot.Exited}, snapshot.ByEvidence},
		"the member has no change of it": {snapshot.Change{Fingerprint: "other"}, snapshot.ByAllowList},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			member := map[string]snapshot.Change{c.member.Fingerprint: c.member}
			if got := causeIn(member, &snapshot.Change{By: snapshot.ByAllowList}); got != c.want {
				t.Errorf("it was changed by %q, want %q", got, c.want)
			}
		})
	}
}
