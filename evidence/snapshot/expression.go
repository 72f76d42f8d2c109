package snapshot

import (
	"fmt"
	"strconv"
	"strings"

	"attestry/evidence"
)

// Expression picks a snapshot of an environment by number
// (contract/semantics.md 4.4, path form).
type Expression struct {
	// Number counts from 1 when positive and from the latest when negative.
	Number int64
}

// ParseExpression reads `N`, `-N`, `~N` and `#N`. The error is the contract's.
func ParseExpression(text string) (Expression, error) {
	invalid := evidence.NewError(evidence.Invalid, "Bad snappish "+text)
	if behind, ok := strings.CutPrefix(text, "~"); ok {
		n, err := strconv.ParseUint(behind, 10, 32)
		if err != nil {
			return Expression{}, invalid
		}
		return Expression{Number: -1 - int64(n)}, nil
	}
	digits := strings.TrimPrefix(text, "#")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strings.HasPrefix(digits, "+") {
		return Expression{}, invalid
	}
	return Expression{Number: n}, nil
}

// Resolve gives the number of the snapshot among latest ones. environment and org
// are names, for the error when there is no such snapshot.
func (e Expression) Resolve(latest int64, org, environment string) (int64, error) {
	number := e.Number
	if number < 0 {
		number += latest + 1
	}
	if number >= 1 && number <= latest {
		return number, nil
	}
	return 0, evidence.NewError(evidence.NotFound, fmt.Sprintf(
		"Org: '%s'. Snapshot '%s#%d' resolves to '%s#%d'. len(snapshots) == %d. Indexes are 1-based",
		org, environment, e.Number, environment, number, latest))
}
