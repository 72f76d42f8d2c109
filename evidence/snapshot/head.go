package snapshot

import (
	"reflect"
	"slices"

	"attestry/evidence/job"
	"attestry/evidence/policy"
)

// Head is the part of an environment that every report changes: its last snapshot and the last processed report. The
// snapshots are authoritative: a worker that finds a snapshot later than the head advances the head.
type Head struct {
	Org         string `json:"org"`
	Environment string `json:"environment"` // id

	// The last snapshot known to be finished; Last is 0 before the first.
	Last      int64   `json:"last"`
	Timestamp float64 `json:"timestamp"`
	Root      string  `json:"root"`
	Counts    Counts  `json:"counts"`
	// State is the verdict on all running artifacts, nil if unknown.
	State *bool `json:"state"`
	// StateSince is the time of the snapshot in which the state last changed, in Unix seconds; 0 if an earlier version of
	// the service made that snapshot.
	StateSince float64 `json:"state_since,omitempty"`
	Events     int64   `json:"events"`
	// Policies are those that the last snapshot applied.
	Policies []policy.Reference `json:"policies,omitempty"`
	// SnapshotGeneration is the generation in which the last snapshot was evaluated.
	SnapshotGeneration string `json:"snapshot_token"`

	// Digest is that of the last processed report, Generation the generation in which it was evaluated.
	Digest     string `json:"digest"`
	Generation string `json:"token"`
	// Scaled is the arrival number of the report with which the stored Scaling was written; 0 if the numbers of instances
	// are those of the last snapshot.
	Scaled int64 `json:"scaled,omitempty"`
	// Renamed is true if something runs under another name by the last processed report than by the last snapshot.
	Renamed bool `json:"renamed,omitempty"`
	// Processed is the arrival number up to which all reports are processed or parked.
	Processed int64     `json:"processed"`
	Outcomes  []Outcome `json:"outcomes,omitempty"`

	// Lease is that of the worker which processes the environment. It only avoids duplicate work: the unique numbers of
	// snapshots decide which result counts.
	Lease   job.Lease `json:"lease"`
	Attempt Attempt   `json:"attempt"`

	// LastReportedAt is when the last processed or identical report was accepted, Unix seconds; 0 before the first.
	LastReportedAt float64 `json:"last_reported_at"`
}

// Attempt counts the attempts to process a report.
type Attempt struct {
	Arrival int64 `json:"arrival,omitempty"`
	Count   int   `json:"count,omitempty"`
	// Reason is why the last attempt failed, Class the kind of error.
	Reason string `json:"reason,omitempty"`
	Class  string `json:"class,omitempty"`
}

// Outcome is the result of a report that made a snapshot or failed. Reports without changes have none.
type Outcome struct {
	Arrival int64 `json:"arrival"`
	// Report is the id of the report that had the arrival number.
	Report   string `json:"report,omitempty"`
	Snapshot int64  `json:"snapshot,omitempty"` // number of the snapshot that it made
	Failed   bool   `json:"failed,omitempty"`
}

// MaxOutcomes bounds the outcomes of a head. It is enough for all reports of a busy environment that clients wait for.
const MaxOutcomes = 256

// Verdict is the result of a report.
type Verdict int

// The verdicts of a report.
const (
	Waiting  Verdict = iota // not processed yet
	Created                 // it made a snapshot
	NoChange                // nothing changed
	Failed                  // it was parked
	Unknown                 // processed, but its outcome was dropped
)

// HasOutcome reports whether the head has an outcome of the report.
func (h Head) HasOutcome(arrival int64, report string) bool {
	return slices.ContainsFunc(h.Outcomes, func(o Outcome) bool { return o.Arrival == arrival && o.Report == report })
}

// VerdictOf returns the result of the report with an arrival number.
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

// MarkProcessed marks all reports up to arrival as processed and appends the outcome of the last one, unless it changed
// nothing. It is idempotent.
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

// Advance updates the head to a finished snapshot. An older snapshot changes nothing.
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
	if h.Renamed { // s has former names, so the last report has to be evaluated if it is repeated
		h.Generation = ""
	}
	h.LastReportedAt = max(h.LastReportedAt, s.ReportedAt)
}

// Adopt updates the head to a snapshot whose worker ended before it wrote the head.
func (h *Head) Adopt(s *Snapshot) {
	// An evaluation without a report has the digest of the previous report.
	if h.Digest != s.Digest {
		h.Scaled, h.Renamed = 0, false
	}
	h.Advance(s)
	h.MarkProcessed(s.Arrival, Outcome{Report: s.Report, Snapshot: s.Number})
}
