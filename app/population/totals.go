package population

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"maps"
	"math"
	"slices"

	"attestry/evidence/period"
	"attestry/evidence/snapshot"
)

const secondsPerDay = 24 * 60 * 60

// Totals counts the deployments and events of a period (docs/semantics.md 26.5).
type Totals struct {
	Events      EventTotals    `json:"events"`
	Deployments int            `json:"deployments" doc:"Equals the number of events that started an artifact."`
	By          map[string]int `json:"by" doc:"Numbers of deployments by kind, verdict and approval, and of those that were allow_listed, broke_glass, brought unapproved_trails or had an incident. Numbers of 0 are left out."`
	LeadTime    Durations      `json:"lead_time_seconds" doc:"From the commit until it ran, without restarts."`
	PerDay      float64        `json:"deployments_per_day" doc:"Deployments without restarts, divided by the days of the period that have passed."`
	Failed      int            `json:"failed_changes" doc:"Artifacts that had an incident or that a rollback replaced, each once in an environment."`
	FailureRate float64        `json:"change_failure_rate" doc:"Failed changes divided by releases; 0 without releases."`
	Restore     Durations      `json:"time_to_restore_seconds" doc:"From the beginning of incidents until they were resolved, the longest of each deployment, without restarts."`
	leads       []float64
	restores    []float64
	failed      map[string]bool
	rows        [sha256.Size]byte
}

// EventTotals counts the entries of the event logs of the environments. Scaling makes none.
type EventTotals struct {
	Total   int `json:"total"`
	Started int `json:"started"`
	Changed int `json:"changed" doc:"Changes of the verdict or the provenance of artifacts that kept running."`
	Exited  int `json:"exited"`
}

// Durations are statistics of durations.
type Durations struct {
	Known  int      `json:"known" doc:"How many deployments have a known duration."`
	Median *float64 `json:"median" nullable:"true"`
	P90    *float64 `json:"p90" nullable:"true" doc:"The 90th percentile."`
}

// NewTotals begins to count.
func NewTotals() Totals { return Totals{By: map[string]int{}, failed: map[string]bool{}} }

// Add counts a row.
func (t *Totals) Add(row *Row) {
	t.Deployments++
	for _, finding := range []string{string(row.Kind), row.Verdict, string(row.Approval)} {
		t.By[finding]++
	}
	if row.AllowListed {
		t.By["allow_listed"]++
	}
	if row.BrokeGlass {
		t.By["broke_glass"]++
	}
	if len(row.Unapproved) > 0 {
		t.By[unapprovedTrails]++
	}
	if row.Kind == snapshot.Rollback {
		t.failed[row.replaced] = true
	}
	if row.Incidents > 0 {
		t.By["incident"]++
		t.failed[row.change] = true
	}
	if row.Kind == snapshot.Restart {
		return
	}
	if row.LeadTime != nil {
		t.leads = append(t.leads, *row.LeadTime)
	}
	if row.Restore != nil {
		t.restores = append(t.restores, *row.Restore)
	}
}

func (t *Totals) addSum(sum [sha256.Size]byte) { subtle.XORBytes(t.rows[:], t.rows[:], sum[:]) }

// Rows is a digest of the rows that a reader with Digests has counted, and of their attestations. It does not depend on
// the order of the rows or on the names of environments and flows.
func (t *Totals) Rows() string { return hex.EncodeToString(t.rows[:]) }

func (t *Totals) addEvent(event *snapshot.Event) {
	t.Events.Total++
	switch kind := event.Type; {
	case kind.Started():
		t.Events.Started++
	case kind == snapshot.Exited:
		t.Events.Exited++
	default:
		t.Events.Changed++
	}
}

func (t *Totals) merge(other *Totals) {
	t.Deployments += other.Deployments
	t.addSum(other.rows)
	for finding, n := range other.By {
		t.By[finding] += n
	}
	t.Events.Total += other.Events.Total
	t.Events.Started += other.Events.Started
	t.Events.Changed += other.Events.Changed
	t.Events.Exited += other.Events.Exited
	t.leads, t.restores = append(t.leads, other.leads...), append(t.restores, other.restores...)
	maps.Copy(t.failed, other.failed)
}

// sum computes the figures of a period from the counts, at a time in Unix seconds.
func (t *Totals) sum(p *period.Period, now float64) {
	t.LeadTime, t.Restore, t.Failed = DurationsOf(t.leads), DurationsOf(t.restores), len(t.failed)
	changes := t.Deployments - t.By[string(snapshot.Restart)]
	if days := (min(p.To, now) - p.From) / secondsPerDay; days > 0 {
		t.PerDay = math.Round(float64(changes)/days*1000) / 1000
	}
	if released := t.By[string(snapshot.NewRelease)]; released > 0 {
		t.FailureRate = math.Round(float64(t.Failed)/float64(released)*1e6) / 1e6
	}
}

// DurationsOf returns the statistics of durations in seconds. It sorts them.
func DurationsOf(all []float64) Durations {
	if len(all) == 0 {
		return Durations{}
	}
	slices.Sort(all)
	at := func(share float64) *float64 { return &all[int(math.Ceil(share*float64(len(all))))-1] }
	return Durations{Known: len(all), Median: at(0.5), P90: at(0.9)}
}
