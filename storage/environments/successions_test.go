package environments_test

import (
	"fmt"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// TestRunsThatBeganTogetherAreFoundAmongMany has an artifact that began to run with so many others that one page of the
// successions does not have them all. Its fingerprint is before or behind those of the others.
func TestRunsThatBeganTogetherAreFoundAmongMany(t *testing.T) {
	lineage := snapshot.Lineage{Flow: "flow", Slot: "web"}
	for _, own := range []string{"a", "z", "none"} {
		t.Run(own, func(t *testing.T) {
			store, _, _ := apptest.NewStore(t)
			batch := &storage.Batch{}
			add := func(fingerprint string) {
				store.Successions.AddIn(batch, snapshot.Succession{Environment: "env", Artifact: snapshot.Predecessor{
					Fingerprint: fingerprint, Since: 1, Origin: evidence.Origin{Flow: lineage.Flow, Slot: lineage.Slot},
				}})
			}
			for i := range storage.MaxMany + 1 {
				add(fmt.Sprintf("m%05d", i))
			}
			if own != "none" {
				add(own)
			}
			evidencetest.Must(t, batch.Write(t.Context(), store.Documents))
			query := environments.PredecessorQuery{Lineage: lineage, Fingerprint: own, Since: 3}
			found, err := store.Successions.Predecessors(t.Context(), "env", []environments.PredecessorQuery{query})
			evidencetest.Must(t, err)
			if predecessor, ok := found[query]; !ok || predecessor.Again || predecessor.Together != (own != "none") {
				t.Errorf("the predecessor is %+v", predecessor)
			}
		})
	}
}
