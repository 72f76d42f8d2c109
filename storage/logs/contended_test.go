package logs_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/translog"
	"attestry/storage/logs"
	"attestry/storage/storagetest"
)

// TestLeavesCommitToWhatProcessesThatContendHaveStored has processes write to one trail at once, on an engine whose
// batches are cut short when they are refused: what was written of such a batch is written anew, with another time.
func TestLeavesCommitToWhatProcessesThatContendHaveStored(t *testing.T) {
	s := apptest.NewFixture(t)
	_, _, err := s.PutFlow("org", "flow")
	s.Must(err)
	var processes sync.WaitGroup
	for process := range 4 {
		store := app.NewStore(storagetest.NewFaultInjector(s.Db, storagetest.DieAtWrite(0, false)), s.Objs, time.Now, slog.New(slog.DiscardHandler))
		processes.Go(func() {
			for i := range 10 {
				at := evidence.Seconds(time.Now())
				scope := recording.Scope{Org: "org", OrgName: "org", Flow: "flow", Trail: "trail", By: "me", At: at}
				// One that is refused for too much contention is tried again by the client.
				_ = store.Recorder.Report(t.Context(), scope, evidence.ArtifactRecord{
					ID: fmt.Sprint(process, "-", i), Org: "org", Trail: "trail", Name: "api", Fingerprint: apptest.Sha("f1", 64), CreatedAt: at,
				}, nil)
			}
		})
	}
	processes.Wait()
	for _, stored := range all(t, s.Db, "artifacts") {
		leaves, err := logs.New(s.Db, nil).LeavesOf(t.Context(), "org", []string{"artifact/" + stored.ID})
		if err != nil || len(leaves) != 1 || leaves[0].Hash != translog.Commitment(leaves[0].Salt, stored.Body) {
			t.Errorf("the leaf of %s is not of what is stored: %v", stored.ID, err)
		}
	}
}
