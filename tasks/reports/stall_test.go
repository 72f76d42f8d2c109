package reports_test

import (
	"fmt"
	"slices"
	"testing"

	"attestry/storage"
)

// TestPausedWorkerDoesNotUndoLaterSnapshots pauses a worker before each of its writes, lets another one take over the
// lease and make later snapshots, in which artifacts start and exit, and then lets the first one continue.
func TestPausedWorkerDoesNotUndoLaterSnapshots(t *testing.T) {
	paused := true
	for write := int64(1); paused; write++ {
		if write > 100 {
			t.Fatal("the worker never ends")
		}
		t.Run(fmt.Sprint("write ", write), func(t *testing.T) { paused = pausedOnce(t, write) })
	}
}

// pausedOnce pauses a worker before a write. It reports whether the worker made that many writes.
func pausedOnce(t *testing.T, write int64) bool {
	s := newModelScene(t, false, nil)
	s.apply(t, rollout...)
	reached, resume, done := make(chan struct{}), make(chan struct{}), make(chan error)
	pause := &interruption{at: write, onlyWrites: true, happen: func() {
		close(reached)
		<-resume
	}}
	first := s.another(t, func(docs storage.Documents) storage.Documents {
		return watch(docs, pause.around)
	})
	go func() { done <- first.processor.Drain(t.Context(), s.env) }()
	operations := slices.Clone(rollout)
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
	s.apply(t, later...)
	close(resume)
	if pause.happened() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	// Processing the next report reads the records that the first worker may have overwritten.
	last := []operation{{Kind: "run", Images: []image{{"other", "f6", 4}, {"web", "f0", 6}}}, {Kind: "drain"}}
	s.apply(t, last...)
	operations = slices.Concat(operations, later, last)
	if difference := modelOf(operations, s.answered).compare(s.storedModel(t)); difference != "" {
		t.Error(difference)
	}
	assertSwept(t, s.scene)
	return pause.happened()
}
