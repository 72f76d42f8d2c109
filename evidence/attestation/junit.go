package attestation

import (
	"fmt"

	"attestry/evidence"
)

// JUnitResult is the result of a JUnit test suite.
type JUnitResult struct {
	Name     string  `json:"name"`
	Failures int64   `json:"failures"`
	Errors   int64   `json:"errors"`
	Skipped  int64   `json:"skipped"`
	Total    int64   `json:"total"`
	Duration float64 `json:"duration" doc:"Seconds."`
	// Timestamp is when the suite ran, nil if unknown.
	Timestamp *float64 `json:"timestamp,omitempty" nullable:"true" doc:"Unix seconds."`
}

type junitRule []struct {
	Failures int64 `json:"failures"`
	Errors   int64 `json:"errors"`
}

// Compliant reports whether no suite has failures or errors; it is true without suites (docs/semantics.md 6.3).
func (r *junitRule) Compliant() bool {
	for _, suite := range *r {
		// In a sum, a negative count could hide a failure.
		if suite.Failures != 0 || suite.Errors != 0 {
			return false
		}
	}
	return true
}

func summarizeJUnit(suites []JUnitResult) []string {
	var sum JUnitResult
	var failing []string
	for _, suite := range suites {
		if suite.Failures != 0 || suite.Errors != 0 {
			failing = append(failing, suite.Name)
		}
		sum.Total += suite.Total
		sum.Failures += suite.Failures + suite.Errors
		sum.Skipped += suite.Skipped
	}
	skipped := ""
	if sum.Skipped != 0 {
		skipped = fmt.Sprintf(", %d skipped", sum.Skipped)
	}
	if len(failing) == 0 {
		return []string{evidence.Count(sum.Total-sum.Skipped, "test") + " passed" + skipped}
	}
	return []string{fmt.Sprintf("%d of %s failed%s: %s", sum.Failures, evidence.Count(sum.Total, "test"), skipped, firstOf(failing))}
}
