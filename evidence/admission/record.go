package admission

import (
	"fmt"
	"strings"
	"time"

	"attestry/evidence"
)

const (
	// KeepFor is how long records are kept.
	KeepFor = 30 * 24 * time.Hour
	// repeatInterval is the interval within which equal decisions have one record, in seconds.
	repeatInterval = 60
	// maxRefusals bounds the images of a record, and maxReason each reason, in characters.
	maxRefusals = 50
	maxReason   = 1000
)

// Record is a stored decision that denied, warned or was overruled by break-glass.
type Record struct {
	ID          string  `json:"id"`
	Org         string  `json:"org"`         // id
	Environment string  `json:"environment"` // id
	Outcome     Outcome `json:"outcome"`
	Kind        string  `json:"kind"`
	Namespace   string  `json:"namespace"`
	Name        string  `json:"name"`
	// User is the cluster's name of the user who made the request; "" if unknown.
	User     string    `json:"user,omitempty"`
	Refusals []Refusal `json:"refusals"`
	// Others is the number of further refused images.
	Others int `json:"others,omitempty"`
	// Reason is the workload's reason for break-glass.
	Reason string `json:"reason,omitempty"`
	// FirstAt and LastAt are Unix seconds. Count is the number of equal decisions between them.
	FirstAt float64 `json:"first_at"`
	LastAt  float64 `json:"last_at"`
	Count   int64   `json:"count"`
}

// NewRecord makes the record of a decision at a time in Unix seconds. Equal decisions on the same workload have the
// same id within a minute.
func NewRecord(org, environment, user string, workload *Workload, decision *Decision, at float64) Record {
	record := Record{
		Org: org, Environment: environment, Outcome: decision.Outcome,
		Kind: workload.Kind, Namespace: workload.Namespace, Name: workload.Name, User: user,
		Reason: evidence.ShortenTo(decision.Reason, maxReason), FirstAt: at, LastAt: at, Count: 1,
	}
	kept := decision.Refusals[:min(len(decision.Refusals), maxRefusals)]
	record.Others = len(decision.Refusals) - len(kept)
	for _, refusal := range kept {
		refusal.Image, refusal.Reason = evidence.ShortenTo(refusal.Image, maxReason), evidence.ShortenTo(refusal.Reason, maxReason)
		record.Refusals = append(record.Refusals, refusal)
	}
	what := []string{environment, string(record.Outcome), record.Kind, record.Namespace, record.Name, user, record.Reason, fmt.Sprint(int64(at) / repeatInterval)}
	for _, refusal := range record.Refusals {
		what = append(what, refusal.Image, refusal.Reason)
	}
	record.ID = environment + "/" + evidence.DerivedID([]byte(strings.Join(what, "\n")))
	return record
}

// Repeat counts another decision of the same id.
func (r *Record) Repeat(later Record) {
	r.Count++
	r.LastAt = max(r.LastAt, later.LastAt)
}
