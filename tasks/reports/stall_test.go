package reports_test

import (
	"fmt"
	"slices"
	"testing"

	"attestry/storage"
)

// TestWorkerThatIsHaltedForLongTakesNothingBack halts a worker before each of its
// writes, lets another one take over and make later snapshots, in which things start
// and exit, and then lets the first one go on.
func TestWorkerThatIsHaltedForLongTakesNothingBack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	halted := true
	for write := int64(1); halted; write++ {
		if write > 100 {
			t.Fatal("the worker never ends")
		}
		t.Run(fmt.Sprint("write ", write), func(t *testing.T) { halted = haltedOnce(t, write) })
	}
}

// haltedOnce reports whether the worker had that many writes.
func haltedOnce(t *testing.T, write int64) bool {
	s := newStage(t, false, nil)
	s.play(t, rollout...)
	reached, resume, done := make(chan struct{}), make(chan struct{}), make(chan error)
	halt := &interruption{at: write, onlyWrites: true, happen: func() {
		close(reached)
		<-resume
	}}
	first := s.another(t, func(docs storage.Documents) storage.Documents {
		return &watched{Documents: docs, around: halt.around}
	})
	go func() { done <- first.processor.Drain(t.Context(), s.env) }()
	story := slices.Clone(rollout)
	later := []operation{
		{Kind: "drain"},
		{Kind: "build", Flow: "build", Trail: "t4", Slot: "web", File: "f6", Commit: "c3", Repo: "r3"},
		{Kind: "run", Images: []image{{"other", "f6", 4}}},
		{Kind: "drain"},
		{Kind: "run", Images: []image{{"other", "f6", 4}, {"web", "f1", 5}}},
		{Kind: "drain"},
		{Kind: "run", Images: []image{{"other", "f6", 4}}},
		{Kind: "drain"},
	}
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-reached:
	}
	s.play(t, later...)
	close(resume)
	if halt.happened() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	// What the first worker left behind, the next report finds.
	last := []operation{{Kind: "run", Images: []image{{"other", "f6", 4}, {"web", "f0", 6}}}, {Kind: "drain"}}
	s.play(t, last...)
	story = slices.Concat(story, later, last)
	if difference := modelOf(story, s.answered).compare(s.told(t)); difference != "" {
		t.Error(difference)
	}
	assertSwept(t, s.scene)
	return halt.happened()
}
