package population

import (
	"math"
	"slices"

	"attestry/evidence/period"
	"attestry/evidence/snapshot"
)

const secondsPerDay = 24 * 60 * 60

// Totals counts what happened in a period (docs/semantics.md 26.5).
type Totals struct {
	Events      EventTotals    `json:"events"`
	Deployments int            `json:"deployments" doc:"As many as events that started an artifact."`
	By          map[string]int `json:"by" doc:"Deployments by each kind, verdict and approval, and how many were allow_listed or broke_glass; those that there are."`
	LeadTime    LeadTimes      `json:"lead_time_seconds"`
	PerDay      float64        `json:"deployments_per_day" doc:"Without restarts, by days of the period that have passed."`
	FailureRate float64        `json:"change_failure_rate" doc:"Rollbacks for each release; 0 without releases."`
	leads       []float64
}

// EventTotals counts the entries of the event logs of the environments. Scaling makes none.
type EventTotals struct {
	Total   int `json:"total"`
	Started int `json:"started"`
	Changed int `json:"changed" doc:"The verdict or the provenance of what runs on."`
	Exited  int `json:"exited"`
}

// LeadTimes sums up the times from commits until they ran, of what is no restart.
type LeadTimes struct {
	Known  int      `json:"known" doc:"For how many deployments it is known."`
	Median *float64 `json:"median" nullable:"true"`
	P90    *float64 `json:"p90" nullable:"true" doc:"Nine of ten are not longer."`
}

func (t *Totals) add(row *Row) {
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
	if row.LeadTime != nil && row.Kind != snapshot.Restart {
		t.leads = append(t.leads, *row.LeadTime)
	}
}

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

// sum computes the figures of a period from what was counted, at a time in Unix seconds.
func (t *Totals) sum(p *period.Period, now float64) {
	t.LeadTime = leadTimesOf(t.leads)
	changes := t.Deployments - t.By[string(snapshot.Restart)]
	if days := (min(p.To, now) - p.From) / secondsPerDay; days > 0 {
		t.PerDay = math.Round(float64(changes)/days*1000) / 1000
	}
	if released := t.By[string(snapshot.NewRelease)]; released > 0 {
		t.FailureRate = math.Round(float64(t.By[string(snapshot.Rollback)])/float64(released)*1e6) / 1e6
	}
}

func leadTimesOf(leads []float64) LeadTimes {
	if len(leads) == 0 {
		return LeadTimes{}
	}
	slices.Sort(leads)
	at := func(share float64) *float64 { return &leads[int(math.Ceil(share*float64(len(leads))))-1] }
	return LeadTimes{Known: len(leads), Median: at(0.5), P90: at(0.9)}
}
