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

// Several processes write to one trail on an engine that does not roll back refused batches. What was already written
// of such a batch is written again, with another time.
func TestLeavesOfContendingProcessesMatchTheStoredFacts(t *testing.T) {
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
				// A client retries a report that is refused because of contention.
				_ = store.Recorder.Report(t.Context(), scope, evidence.ArtifactRecord{
					ID: fmt.Sprint(process, "-", i), Org: "org", Trail: "trail", Name: "api", Fingerprint: apptest.Sha("f1", 64), CreatedAt: at,
				}, nil)
			}
		})
	}
	processes.Wait()
	artifacts := all(t, s.Db, "artifacts")
	if len(artifacts) == 0 {
		t.Fatal("no artifact is stored")
	}
	for _, stored := range artifacts {
		leaves, err := logs.New(s.Db, nil).LeavesOf(t.Context(), "org", []string{"artifact/" + stored.ID})
		if err != nil || len(leaves) != 1 || leaves[0].Hash != translog.Commitment(leaves[0].Salt, stored.Body) {
			t.Errorf("the leaf of %s is not of what is stored: %v", stored.ID, err)
		}
	}
}
