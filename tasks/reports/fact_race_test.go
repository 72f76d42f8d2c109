package reports_test

import (
	"fmt"
	"testing"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// TestFactsRecordedWhileAnArtifactStartsAreInTheNextSnapshot has a pipeline report or attest an artifact before the
// first command of the worker that processes its start, before the second, and so on. The snapshot of the next report
// has the fact, whether or not the worker has read it.
func TestFactsRecordedWhileAnArtifactStartsAreInTheNextSnapshot(t *testing.T) {
	for what, d := range map[string]operation{
		"a starting artifact is reported":              {Kind: "build", Flow: "build", Trail: "t1", Slot: "web", Commit: "c1", Repo: "r1"},
		"a starting artifact is attested":              {Kind: "attest", Flow: "scan", Trail: "t1", Attestation: "y"},
		"a starting artifact is attested by name":      {Kind: "attest", Flow: "scan", Trail: "t1", Slot: "api", Attestation: "y"},
		"the trail of a starting artifact is attested": {Kind: "attest", Flow: "scan", Trail: "t1", Attestation: "x"},
		"a running artifact is reported again":         {Kind: "build", Flow: "build", Trail: "t1", Slot: "api", File: "f0", Commit: "c2"},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRace(t)
			for at := int64(1); r.round(t, at, d); at++ {
				if at > 100 {
					t.Fatal("the worker never ends")
				}
			}
		})
	}
}

// race is a scene whose worker can be interrupted.
type race struct {
	*modelScene
	worker *interruption
}

func newRace(t *testing.T) *race {
	r := &race{}
	r.modelScene = newModelScene(t, false, func(docs storage.Documents) storage.Documents {
		return watch(docs, func(write bool, run func() error) error {
			if r.worker == nil {
				return run()
			}
			return r.worker.around(write, run)
		})
	})
	r.apply(t,
		operation{Kind: "build", Flow: "build", Trail: "t1", Slot: "api", File: "f0", Commit: "c0"},
		operation{Kind: "run", Images: []image{{"n0", "f0", 1}}}, operation{Kind: "drain"})
	return r
}

// round has a new artifact start, and does the operation before the given command of the worker. It reports whether the
// worker made that many commands.
func (r *race) round(t *testing.T, number int64, d operation) bool {
	fresh := fmt.Sprint("fresh-", number)
	pipeline := &modelScene{scene: r.another(t, nil), flows: r.flows}
	if d.File == "" && (d.Kind == "build" || d.Attestation == "y" && d.Slot == "") {
		d.File = fresh
	}
	d.Trail = fmt.Sprint("trail-", number)
	images := []image{{"n0", "f0", 1}, {"n1", fresh, 1}}
	known := operation{Kind: "build", Flow: "scan", Trail: d.Trail, Slot: "api", File: fresh, Commit: "c0"}
	r.apply(t, known, operation{Kind: "run", Images: images})
	race := &interruption{at: number, happen: func() { pipeline.do(t, r.done, d) }}
	r.worker = race
	r.drain(t)
	r.worker = nil
	if !race.happened() {
		return false
	}
	r.done++
	id := idOf(r.done - 1)
	if d.Kind == "build" {
		r.apply(t, operation{Kind: "run", Images: images}, operation{Kind: "drain"})
		if origin := r.origin(t, d.File, "build"); origin.Record != id {
			t.Errorf("before command %d: the record is %q, want %s", number, origin.Record, id)
		}
		return true
	}
	r.apply(t, operation{Kind: "run", Images: append(images, image{"n2", fresh + "-other", 1})}, operation{Kind: "drain"})
	if origin := r.origin(t, fresh, "scan"); origin.Status != evidence.NonCompliant {
		t.Errorf("before command %d: the state is %q", number, origin.Status)
	}
	return true
}

// origin returns the origin of a file from a flow in the latest snapshot.
func (r *race) origin(t *testing.T, file, flow string) snapshot.Origin {
	t.Helper()
	_, artifacts, _ := r.artifacts(t, r.head(t).Last)
	for _, origin := range snapshot.ByFingerprint(artifacts)[fingerprint(file)].Origins {
		if origin.Flow == r.flows[flow] {
			return origin
		}
	}
	return snapshot.Origin{}
}
