package recordingtest

import (
	"fmt"
	"testing"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// noted is something that was recorded at a time.
type noted struct {
	id     string
	at     float64
	period period
}

// checkOrder looks for records that were acknowledged before others were asked for and
// have no earlier time, though the others may supersede them: those of one trail, the
// artifacts and the trails of a flow, the reports of one fingerprint, and the decisions on
// one control. The times must differ when they are rounded to microseconds, as answers
// show them.
func (c *model) checkOrder(t testing.TB, trails []evidence.Trail, artifacts []evidence.ArtifactRecord, attestations []evidence.Attestation) {
	t.Helper()
	rivals := map[string][]noted{}
	add := func(id string, at float64, groups ...string) {
		if period, ok := c.acked[id]; ok {
			for _, group := range groups {
				rivals[group] = append(rivals[group], noted{id: id, at: at, period: period})
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
		rivals["flow"] = append(rivals["flow"], noted{id: trail.Name, at: trail.CreatedAt, period: c.begun[trail.Name]})
	}
	for group, all := range rivals {
		for _, earlier := range all {
			for _, later := range all {
				if earlier.period.before(later.period) && later.at-earlier.at < 0.5e-6 {
					t.Errorf("%s: %s was asked for after %s was acknowledged, and is of %.7f, not later than %.7f",
						group, later.id, earlier.id, later.at, earlier.at)
				}
			}
		}
	}
}

const (
	// anHour is by how many seconds a clock is behind the others.
	anHour = 3600
	// passes is how often the reconciler looks, so that it begins behind what it has seen.
	passes = 6
)

// diedBehind lets a process whose clock is an hour behind die at a write of an operation, after
// the reconciler has seen all that others did by clocks that are right. It reports whether
// the operation has so many writes.
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
		c.settleAndRepeat(t, docs, d, fmt.Sprintf("dead at write %d", at))
	}
	return process.Reached.Load()
}
