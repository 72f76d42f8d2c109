package population

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"attestry/evidence"
	"attestry/evidence/framework"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
)

// State says how far a period meets a requirement or a measure (docs/semantics.md 26.7).
type State string

// The states, in ascending order. A requirement's state is the highest one of its measures.
const (
	NotMeasured       State = "not_measured"
	Met               State = "met"
	MetWithExceptions State = "met_with_exceptions"
	NotMet            State = "not_met"
)

// maxListed is how many deployments of each state a measure lists.
const maxListed = 100

// Assessment is how far a period meets a framework.
type Assessment struct {
	Title        string                `json:"title"`
	Requirements []AssessedRequirement `json:"requirements"`
}

// AssessedRequirement is how far a period meets a requirement.
type AssessedRequirement struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	State    State     `json:"state" enum:"not_measured,met,met_with_exceptions,not_met"`
	Measures []Measure `json:"measures"`
}

// Measure is the result of a measure for a period.
type Measure struct {
	Title      string  `json:"title"`
	By         string  `json:"by" doc:"What was measured: findings, an attestation, a control or the log."`
	State      State   `json:"state" enum:"not_measured,met,met_with_exceptions,not_met"`
	Measured   int     `json:"measured" doc:"How many deployments, without restarts; one for the log."`
	Met        int     `json:"met"`
	Exceptions int     `json:"exceptions" doc:"How many did not meet it for a reason that somebody recorded."`
	Failed     int     `json:"failed"`
	Listed     []Unmet `json:"listed" doc:"The first hundred exceptions and the first hundred that failed, oldest first."`
	definition *framework.Measure
}

// Unmet is a deployment that does not meet a measure.
type Unmet struct {
	ID          string  `json:"id"`
	DeployedAt  float64 `json:"deployed_at" doc:"Unix seconds."`
	Environment string  `json:"env_name"`
	Snapshot    int64   `json:"snapshot_index"`
	Artifact    string  `json:"artifact_name"`
	Exception   bool    `json:"exception"`
	Why         string  `json:"why"`
}

// newAssessment returns the assessment of a framework before anything is measured.
func newAssessment(of *framework.Framework) Assessment {
	assessment := Assessment{Title: of.Title, Requirements: []AssessedRequirement{}}
	for i := range of.Requirements {
		one := &of.Requirements[i]
		requirement := AssessedRequirement{ID: one.ID, Title: one.Title, State: NotMeasured, Measures: make([]Measure, len(one.Measures))}
		for j := range one.Measures {
			requirement.Measures[j] = Measure{Title: one.Measures[j].Title, By: one.Measures[j].String(), Listed: []Unmet{}, definition: &one.Measures[j]}
		}
		assessment.Requirements = append(assessment.Requirements, requirement)
	}
	return assessment
}

// measureLog sets the measures of the log once the period has ended. They are met if the log had a checkpoint before
// the end. A log that began later does not show what was altered or removed before.
func (r *Reader) measureLog(ctx context.Context, p *period.Period, measures []*Measure, now float64) error {
	if p.Open(now) || len(measures) == 0 {
		return nil
	}
	last, err := r.store.Logs.At(ctx, p.Org, p.Last())
	for _, measure := range measures {
		measure.Measured, measure.Failed = 1, 1
		if last.Note != "" {
			measure.Met, measure.Failed = 1, 0
		}
	}
	return err
}

// addControls adds the controls of decisions to rows.
func (r *Reader) addControls(ctx context.Context, rows []Row) error {
	controls := map[string]string{} // by the ids of decisions
	for i := range rows {
		for _, entry := range rows[i].entries {
			if entry.Type == evidence.TypeDecision {
				controls[entry.ID] = ""
			}
		}
	}
	err := r.eachAttestation(ctx, slices.Sorted(maps.Keys(controls)), func(one *evidence.Attestation) { controls[one.ID] = one.Control })
	for i := range rows {
		rows[i].controls = controls
	}
	return err
}

func addRow(measures []*Measure, row *Row) {
	if row.Kind == snapshot.Restart {
		return
	}
	for _, measure := range measures {
		measure.Measured++
		why, exception := row.unmet(measure.definition)
		count := &measure.Met
		switch {
		case exception:
			count = &measure.Exceptions
		case why != "":
			count = &measure.Failed
		}
		if *count++; why != "" && *count <= maxListed {
			measure.Listed = append(measure.Listed, Unmet{
				ID: row.ID, DeployedAt: row.DeployedAt, Environment: row.Environment, Snapshot: row.Snapshot, Artifact: row.Artifact, Exception: exception, Why: why,
			})
		}
	}
}

// unmet returns why a row does not meet a measure, "" if it does. exception is set if a reason for that was recorded.
func (r *Row) unmet(measure *framework.Measure) (why string, exception bool) {
	if measure.Attestation != nil || measure.Control != "" {
		why, exception = r.lacks(measure)
	}
	for _, finding := range measure.Findings {
		// An override does not excuse the other findings.
		if override := finding == string(period.Overridden); r.Has(finding) && (why == "" || exception && !override) {
			why, exception = strings.ReplaceAll(finding, "_", " "), override
		}
	}
	switch {
	case why == "" || exception:
		return why, exception
	case r.BrokeGlass:
		return why + "; it broke glass: " + r.GlassReason, true
	case r.AllowListed:
		return why + "; it was on the allow list", true
	}
	return why, false
}

// lacks is unmet for a measure that requires an attestation or a decision before the artifact ran.
func (r *Row) lacks(measure *framework.Measure) (why string, exception bool) {
	why = "not attested before it ran"
	var fitting []evidence.Entry
	for _, entry := range r.entries {
		fits := measure.Control != "" && entry.Type == evidence.TypeDecision && r.controls[entry.ID] == measure.Control
		if measure.Attestation != nil {
			fits = measure.Attestation.Fits(entry.Type, entry.Name)
		}
		switch {
		case !fits:
		case entry.Time > r.DeployedAt:
			why = entry.Name + " was last recorded after it ran"
		default:
			fitting = append(fitting, entry)
		}
	}
	if measure.Control != "" && len(fitting) > 1 { // the latest decision counts, whatever its name is
		fitting = []evidence.Entry{slices.MaxFunc(fitting, func(a, b evidence.Entry) int { return cmp.Compare(a.Time, b.Time) })}
	}
	for _, entry := range fitting {
		switch {
		case entry.Compliant && !entry.Override:
			return "", false
		case entry.Compliant:
			why, exception = entry.Name+": "+entry.Finding, true
		case !exception:
			why = strings.TrimSuffix(entry.Name+" is not compliant: "+entry.Finding, ": ")
		}
	}
	return why, exception
}

// conclude sets the states from the numbers.
func (a *Assessment) conclude() {
	order := []State{NotMeasured, Met, MetWithExceptions, NotMet}
	for i := range a.Requirements {
		requirement := &a.Requirements[i]
		for j := range requirement.Measures {
			measure := &requirement.Measures[j]
			switch {
			case measure.Failed > 0:
				measure.State = NotMet
			case measure.Exceptions > 0:
				measure.State = MetWithExceptions
			case measure.Measured > 0:
				measure.State = Met
			default:
				measure.State = NotMeasured
			}
			requirement.State = order[max(slices.Index(order, requirement.State), slices.Index(order, measure.State))]
		}
	}
}

// RequirementColumns are the columns of an assessment as CSV, which has a line for each measure.
var RequirementColumns = []string{
	"requirement", "title", "state", "measure", "by", "measure_state", "measured", "met", "exceptions", "failed", "listed",
}

// Lines returns the assessment as CSV.
func (a *Assessment) Lines() (lines [][]string) {
	for _, one := range a.Requirements {
		of := []string{one.ID, one.Title, string(one.State)}
		measures := one.Measures
		if len(measures) == 0 {
			measures = []Measure{{State: NotMeasured}}
		}
		for _, measure := range measures {
			listed := evidence.Map(measure.Listed, func(unmet Unmet) string { return unmet.ID })
			line := append(slices.Clone(of), measure.Title, measure.By, string(measure.State))
			for _, number := range []int{measure.Measured, measure.Met, measure.Exceptions, measure.Failed} {
				line = append(line, strconv.Itoa(number))
			}
			lines = append(lines, append(line, strings.Join(listed, " ")))
		}
	}
	return lines
}
