package snapshot

import (
	"slices"

	"attestry/evidence/job"
	"attestry/evidence/policy"
)

// Head is the hot part of an environment: where its snapshots and reports stand.
// It follows the snapshots, which are the truth; whoever finds it behind them
// brings it forward.
type Head struct {
	Org         string `json:"org"`
	Environment string `json:"environment"` // id

	// The last snapshot known to be finished; Last is 0 before the first.
	Last      int64   `json:"last"`
	Timestamp float64 `json:"timestamp"`
	Root      string  `json:"root"`
	Counts    Counts  `json:"counts"`
	// State is the verdict on all that runs, nil when it is unknown.
	State  *bool `json:"state"`
	Events int64 `json:"events"`
	// Policies are those that the last snapshot applied.
	Policies []policy.Reference `json:"policies,omitempty"`
	// SnapshotToken is the generation that the last snapshot was judged under.
	SnapshotToken string `json:"snapshot_token"`

	// Digest is that of the last processed report, Token the generation it
	// was judged under.
	Digest string `json:"digest"`
	Token  string `json:"token"`
	// Scaled is the arrival number of the report from which on numbers of instances differ from
	// those of the last snapshot as they do now; 0 if they do not.
	Scaled int64 `json:"scaled,omitempty"`
	// Processed is the arrival number up to which all reports are settled.
	Processed int64     `json:"processed"`
	Outcomes  []Outcome `json:"outcomes,omitempty"`

	// Lease is that of the worker which processes the environment. Correctness rests on the numbering of
	// the snapshots.
	Lease   job.Lease `json:"lease"`
	Attempt Attempt   `json:"attempt"`

	// LastReportedAt is when the last settled or identical report was accepted,
	// Unix seconds; 0 before the first.
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

// MaxOutcomes is how many outcomes a head keeps: enough for every report that
// may still be waited for in a busy environment.
const MaxOutcomes = 256

// Verdict is what a report came to.
type Verdict int

// The verdicts of a report.
const (
	Waiting  Verdict = iota // not settled yet
	Created                 // it made a snapshot
	NoChange                // nothing changed
	Failed                  // it was given up
	Unknown                 // settled, but too long ago to tell how
)

// Settled reports whether the outcome of a report is noted under its arrival number.
// Reports that changed nothing leave none.
func (h Head) Settled(arrival int64, report string) bool {
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

// Settle marks all reports up to arrival as processed, and notes the outcome of
// the last one when it is worth noting. Settling twice changes nothing.
func (h *Head) Settle(arrival int64, outcome Outcome) {
	if arrival <= h.Processed {
		return
	}
	h.Processed = arrival
	if outcome.Snapshot == 0 && !outcome.Failed {
		return
	}
	outcome.Arrival = arrival
	// A fresh list: copies of the head share the old one.
	kept := h.Outcomes[max(0, len(h.Outcomes)+1-MaxOutcomes):]
	h.Outcomes = append(slices.Clone(kept), outcome)
}

// Advance brings the head to a finished snapshot; an older one changes nothing.
func (h *Head) Advance(s *Snapshot) {
	if s.Number <= h.Last {
		return
	}
	h.Last = s.Number
	h.Timestamp = s.Timestamp
	h.Root = s.Root
	h.Counts = s.Counts
	h.State = s.State
	h.Policies = s.Policies
	h.Events = s.EventsBefore + s.Events
	h.Digest = s.Digest
	h.Token, h.SnapshotToken = s.Token, s.Token
	h.LastReportedAt = max(h.LastReportedAt, s.ReportedAt)
}
