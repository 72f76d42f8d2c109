package attestation

import (
	"fmt"

	"attestry/evidence"
)

// JUnitResult is what one JUnit test suite came to.
type JUnitResult struct {
	Name     string  `json:"name"`
	Failures int64   `json:"failures"`
	Errors   int64   `json:"errors"`
	Skipped  int64   `json:"skipped"`
	Total    int64   `json:"total"`
	Duration float64 `json:"duration" doc:"Seconds."`
	// Timestamp is when the suite ran; nil when unknown.
	Timestamp *float64 `json:"timestamp,omitempty" nullable:"true" doc:"Unix seconds."`
}

type junitRule []struct {
	Failures int64 `json:"failures"`
	Errors   int64 `json:"errors"`
}

// Compliant reports whether no suite has failures or errors, also of no suites (docs/semantics.md 6.3).
func (r *junitRule) Compliant() bool {
	for _, suite := range *r {
		// Not the sum, in which a negative count could hide a failure.
		if suite.Failures != 0 || suite.Errors != 0 {
			return false
		}
	}
	return true
}

func summarizeJUnit(suites []JUnitResult) []string {
	var sum JUnitResult
	for _, suite := range suites {
		sum.Total += suite.Total
		sum.Failures += suite.Failures
		sum.Errors += suite.Errors
		sum.Skipped += suite.Skipped
	}
	return []string{fmt.Sprintf("%s in %s: %d failed, %s, %d skipped", evidence.Count(sum.Total, "test"),
		evidence.Count(len(suites), "suite"), sum.Failures, evidence.Count(sum.Errors, "error"), sum.Skipped)}
}
