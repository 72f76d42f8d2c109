package reports_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/app/recording"
	"attestry/evidence"
)

// TestDocumentsStaySmallWhenManyFlowsKnowAnArtifact has 150 flows report two artifacts of which one replaces the other,
// with long texts about their commits.
func TestDocumentsStaySmallWhenManyFlowsKnowAnArtifact(t *testing.T) {
	const flows = 150
	s, largest := newMeasuredScene(t)
	long := strings.Repeat("long ", 800)
	// The flows report concurrently, so that one write of the provenance has the records of many flows.
	var reporters sync.WaitGroup
	for i := range flows {
		reporters.Go(func() {
			for version, name := range []string{"web-1", "web-2"} {
				at := evidence.Seconds(s.clock.Now())
				sha := fmt.Sprintf("%040x", i+1)
				flow := fmt.Sprint("flow-", i)
				record := evidence.ArtifactRecord{
					ID: evidence.NewID(), Org: "org", Trail: "trail", Name: strings.Repeat("n", 200), Fingerprint: fingerprint(name), Filename: name,
					CommitSHA: sha, CommitURL: "https://github.com/acme/web/commit/" + sha + "?" + long, Repo: fmt.Sprint("repo-", i),
					Commit:    &evidence.GitCommit{SHA1: sha, Message: &long, Author: &long, Branch: &long, URL: &long, Timestamp: new(at)},
					CreatedAt: at + float64(version)/10,
				}
				scope := recording.Scope{Org: "org", OrgName: "org", Flow: flow, Trail: "trail", By: "ci", ByID: "ci", At: at}
				if err := s.store.Recorder.Report(t.Context(), scope, record, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	reporters.Wait()
	for _, files := range [][]string{{"web-1"}, {"web-2"}, {}} {
		s.clock.Advance(time.Minute)
		s.accept(t, running(files...))
		s.drain(t)
	}
	_, artifacts, _ := s.artifacts(t, 2)
	if len(artifacts) != 1 || len(artifacts[0].Origins) != flows || artifacts[0].Origins[flows-1].Previous == nil {
		t.Fatalf("%d artifacts run", len(artifacts))
	}
	if _, _, changes := s.artifacts(t, 3); len(changes) != 1 || len(changes[0].Former.Origins) != flows {
		t.Errorf("the changes are %+v", changes)
	}
	for collection, size := range largest {
		if t.Logf("%s: %d bytes", collection, size); size > 2<<20 {
			t.Errorf("a document of %s has %d bytes", collection, size)
		}
	}
	events, err := s.store.Events.Between(t.Context(), s.env, 1, 100, false)
	if err != nil || len(events) != 4 || len(events[0].Flows) != flows {
		t.Errorf("%d events, %v", len(events), err)
	}
}
