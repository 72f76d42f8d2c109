package recordingtest

import (
	"fmt"
	"testing"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// timed is a record with its time in Unix seconds, and the period of its request.
type timed struct {
	id     string
	at     float64
	period period
}

// checkOrder checks that a record is later than those of its group that were acknowledged before it was requested.
// Groups are the records of a trail, the artifacts and the trails of a flow, the reports of a fingerprint, and the
// decisions on a control. Times must differ when they are rounded to microseconds, as answers show them.
func (c *model) checkOrder(t testing.TB, trails []evidence.Trail, artifacts []evidence.ArtifactRecord, attestations []evidence.Attestation) {
	t.Helper()
	byGroup := map[string][]timed{}
	add := func(id string, at float64, groups ...string) {
		if period, ok := c.acked[id]; ok {
			for _, group := range groups {
				byGroup[group] = append(byGroup[group], timed{id: id, at: at, period: period})
			}
		}
	}
	for _, record := range artifacts {
		add(record.ID, record.CreatedAt, "trail "+record.Trail, "fingerprint "+record.Fingerprint, "artifacts")
	}
	for _, a := range attestations {
		add(a.ID, a.CreatedAt, "trail "+a.Trail)
		if a.Control != "" {
			add(a.ID, a.CreatedAt, "control "+a.Control)
		}
	}
	for _, trail := range trails {
		byGroup["flow"] = append(byGroup["flow"], timed{id: trail.Name, at: trail.CreatedAt, period: c.begun[trail.Name]})
	}
	for group, all := range byGroup {
		for _, earlier := range all {
			for _, later := range all {
				if earlier.period.before(later.period) && later.at-earlier.at < 0.5e-6 {
					t.Errorf("%s: %s was requested after %s was acknowledged, and is of %.7f, not later than %.7f",
						group, later.id, earlier.id, later.at, earlier.at)
				}
			}
		}
	}
}

const (
	// anHour is by how much a clock is behind the others, in seconds.
	anHour = 3600
	// passes is how many passes of the reconciler move its high-water mark past all facts.
	passes = 6
)

// diedBehind lets a process whose clock is an hour behind die at a write of an operation, after the reconciler has read
// all facts of processes with correct clocks. It reports whether the operation has so many writes.
func diedBehind(t *testing.T, docs storage.Documents, d operation, at int) bool {
	t.Helper()
	c := preparedAt(t, docs, anHour)
	successor := newStore(t, docs)
	for range passes {
		if err := c.finish(t.Context(), successor); err != nil {
			t.Fatal(err)
		}
	}
	process := storagetest.NewFaultInjector(docs, storagetest.DieAtWrite(at, true))
	_ = c.do(t.Context(), newStore(t, process), d)
	if process.Reached.Load() {
		c.finishAndRepeat(t, docs, d, fmt.Sprintf("dead at write %d", at))
	}
	return process.Reached.Load()
}
