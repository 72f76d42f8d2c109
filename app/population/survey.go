package population

import (
	"context"

	"attestry/evidence/framework"
	"attestry/evidence/period"
)

// Survey counts and measures the rows of a period while it reads them once, so that all results are of the same rows.
type Survey struct {
	reader      *Reader
	period      *period.Period
	totals      Totals
	assessments []Assessment
	facts       *factsCache
	// ofRows and ofLog are the measures of rows and of the log. decided means that a measure is about decisions.
	ofRows, ofLog []*Measure
	decided       bool
}

// NewSurvey begins to survey a period by frameworks.
func (r *Reader) NewSurvey(p *period.Period, frameworks ...framework.Framework) *Survey {
	s := &Survey{reader: r, period: p, totals: NewTotals(), facts: newFactsCache(), assessments: make([]Assessment, len(frameworks))}
	for i := range frameworks {
		s.assessments[i] = newAssessment(&frameworks[i])
		s.decided = s.decided || len(frameworks[i].Controls()) > 0
		for _, requirement := range s.assessments[i].Requirements {
			for j := range requirement.Measures {
				if measure := &requirement.Measures[j]; measure.definition.Log {
					s.ofLog = append(s.ofLog, measure)
				} else {
					s.ofRows = append(s.ofRows, measure)
				}
			}
		}
	}
	return s
}

// Walk surveys the page of deployments after a cursor, "" for the first page. It returns the next cursor, "" after the
// last page. The number of commands does not depend on the number of deployments.
func (s *Survey) Walk(ctx context.Context, after string) ([]Row, string, error) {
	rows, next, err := s.reader.walk(ctx, s.period, after, s.facts)
	if err == nil && s.decided {
		err = s.reader.addControls(ctx, rows)
	}
	if err != nil {
		return nil, "", err
	}
	for i := range rows {
		s.reader.add(&s.totals, &rows[i])
		addRow(s.ofRows, &rows[i])
	}
	return rows, next, nil
}

// Lines is Walk for the rows with a finding, as CSV.
func (s *Survey) Lines(ctx context.Context, finding, after string) (lines [][]string, next string, err error) {
	rows, next, err := s.Walk(ctx, after)
	for i := range rows {
		if rows[i].Has(finding) {
			lines = append(lines, rows[i].line())
		}
	}
	return lines, next, err
}

// Each surveys all rows, and calls yield for each.
func (s *Survey) Each(ctx context.Context, yield func(*Row)) error {
	return each(ctx, s.reader, yield, func(after string) ([]Row, string, error) { return s.Walk(ctx, after) })
}

// Totals returns the totals of the surveyed rows and of the event logs, at a time in Unix seconds.
func (s *Survey) Totals(ctx context.Context, now float64) (Totals, error) {
	for _, id := range s.period.Environments {
		if err := s.reader.eachEvent(ctx, id, s.period, s.totals.addEvent); err != nil {
			return s.totals, err
		}
	}
	s.totals.sum(s.period, now)
	return s.totals, nil
}

// Assessments returns how far the surveyed rows meet the frameworks, in their order.
func (s *Survey) Assessments(ctx context.Context, now float64) ([]Assessment, error) {
	err := s.reader.measureLog(ctx, s.period, s.ofLog, now)
	for i := range s.assessments {
		s.assessments[i].conclude()
	}
	return s.assessments, err
}
