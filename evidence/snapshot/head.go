package snapshot

import (
	"reflect"
	"slices"

	"attestry/evidence/job"
	"attestry/evidence/policy"
)

// Head is the part of an environment that every report changes: its last snapshot, and how far its reports are
// processed. The snapshots decide: a worker that finds the head behind the last snapshot advances it.
type Head struct {
	Org         string `json:"org"`
	Environment string `json:"environment"` // id

	// The last snapshot known to be finished; Last is 0 before the first.
	Last      int64   `json:"last"`
	Timestamp float64 `json:"timestamp"`
	Root      string  `json:"root"`
	Counts    Counts  `json:"counts"`
	// State is the verdict on all that runs, nil when it is unknown.
	State *bool `json:"state"`
	// StateSince is the time of the snapshot with which the state became what it is, in Unix seconds; 0 if an earlier
	// version of the service made it.
	StateSince float64 `json:"state_since,omitempty"`
	Events     int64   `json:"events"`
	// Policies are those that the last snapshot applied.
	Policies []policy.Reference `json:"policies,omitempty"`
	// SnapshotGeneration is the generation in which the last snapshot was evaluated.
	SnapshotGeneration string `json:"snapshot_token"`

	// Digest is that of the last processed report, Generation the one in which it was evaluated.
	Digest     string `json:"digest"`
	Generation string `json:"token"`
	// Scaled is the arrival number of the report from which on numbers of instances differ from
	// those of the last snapshot as they do now; 0 if they do not.
	Scaled int64 `json:"scaled,omitempty"`
	// Processed is the arrival number up to which all reports are processed or parked.
	Processed int64     `json:"processed"`
	Outcomes  []Outcome `json:"outcomes,omitempty"`

	// Lease is that of the worker which processes the environment. It only saves double work: the numbering of the
	// snapshots decides which result counts.
	Lease   job.Lease `json:"lease"`
	Attempt Attempt   `json:"attempt"`

	// LastReportedAt is when the last processed or identical report was accepted, Unix seconds; 0 before the first.
	LastReportedAt float64 `json:"last_reported_at"`
}

// Attempt counts how often the processing of a report was begun.
type Attempt struct {
	Arrival int64 `json:"arrival,omitempty"`
	Count   int   `json:"count,omitempty"`
	// Reason is why the last attempt failed, Class what kind of reason that is.
	Reason string `json:"reason,omitempty"`
	Class  string `json:"class,omitempty"`
}

// Outcome is what became of a report that did not just change nothing.
type Outcome struct {
	Arrival int64 `json:"arrival"`
	// Report is the id of the report that had the arrival number.
	Report   string `json:"report,omitempty"`
	Snapshot int64  `json:"snapshot,omitempty"` // the number it made
	Failed   bool   `json:"failed,omitempty"`
}

// MaxOutcomes is how many outcomes a head keeps: enough for all reports of a busy environment that somebody may wait
// for.
const MaxOutcomes = 256

// Verdict is what a report came to.
type Verdict int

// The verdicts of a report.
const (
	Waiting  Verdict = iota // not processed yet
	Created                 // it made a snapshot
	NoChange                // nothing changed
	Failed                  // it was parked
	Unknown                 // processed, but too long ago to tell how
)

// HasOutcome reports whether a report has an outcome under its arrival number. Without changes there is none.
func (h Head) HasOutcome(arrival int64, report string) bool {
	return slices.ContainsFunc(h.Outcomes, func(o Outcome) bool { return o.Arrival == arrival && o.Report == report })
}

// VerdictOf tells what became of the report with the given arrival number.
func (h Head) VerdictOf(arrival int64) Verdict {
	if arrival > h.Processed {
		return Waiting
	}
	for _, outcome := range h.Outcomes {
		if outcome.Arrival != arrival {
			continue
		}
		if outcome.Failed {
			return Failed
		}
		return Created
	}
	if len(h.Outcomes) == MaxOutcomes && arrival < h.Outcomes[0].Arrival {
		return Unknown
	}
	return NoChange
}

// MarkProcessed marks all reports up to arrival as processed, and notes the outcome of
// the last one unless it just changed nothing. Doing it twice changes nothing.
func (h *Head) MarkProcessed(arrival int64, outcome Outcome) {
	if arrival <= h.Processed {
		return
	}
	h.Processed = arrival
	if outcome.Snapshot == 0 && !outcome.Failed {
		return
	}
	outcome.Arrival = arrival
	// Copies of the head share the old list, so it is cloned.
	kept := h.Outcomes[max(0, len(h.Outcomes)+1-MaxOutcomes):]
	h.Outcomes = append(slices.Clone(kept), outcome)
}

// Advance brings the head to a finished snapshot; an older one changes nothing.
func (h *Head) Advance(s *Snapshot) {
	if s.Number <= h.Last {
		return
	}
	if h.Last == 0 || !reflect.DeepEqual(h.State, s.State) {
		h.StateSince = s.Timestamp
	}
	h.Last = s.Number
	h.Timestamp = s.Timestamp
	h.Root = s.Root
	h.Counts = s.Counts
	h.State = s.State
	h.Policies = s.Policies
	h.Events = s.EventsBefore + s.Events
	h.Digest = s.Digest
	h.Generation, h.SnapshotGeneration = s.Generation, s.Generation
	h.LastReportedAt = max(h.LastReportedAt, s.ReportedAt)
}

// Adopt brings the head to a snapshot that was made by a worker that did not write the head.
func (h *Head) Adopt(s *Snapshot) {
	// The digest of an evaluation without a report is that of the report before.
	if h.Digest != s.Digest {
		h.Scaled = 0
	}
	h.Advance(s)
	h.MarkProcessed(s.Arrival, Outcome{Report: s.Report, Snapshot: s.Number})
}
