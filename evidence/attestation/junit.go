package attestation

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

// EvaluateJUnit reports whether no suite has failures or errors. That holds for no
// suites too (docs/semantics.md 6.3).
func EvaluateJUnit(suites []JUnitResult) bool {
	for _, suite := range suites {
		// Not the sum, in which a negative count could hide a failure.
		if suite.Failures != 0 || suite.Errors != 0 {
			return false
		}
	}
	return true
}
