package pdf

import (
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

const (
	// maxSummaryLines and maxSummaryLine bound the summary of a payload, the latter in bytes.
	maxSummaryLines = 8
	maxSummaryLine  = 300
)

// summarize sums up what only this type has, nil for payloads of earlier forms.
func summarize(a *evidence.Attestation) []string {
	finding := a.Finding
	if a.Override != nil { // which has lines of its own
		finding = ""
	}
	return shortened(attestation.Summary(a.Type, finding, a.Payload))
}

func shortened(lines []string) []string {
	if more := len(lines) - maxSummaryLines; more > 0 {
		lines = append(lines[:maxSummaryLines:maxSummaryLines], fmt.Sprintf("and %d more", more))
	}
	for i, line := range lines {
		lines[i] = strings.Clone(shorten(line, maxSummaryLine)) // without the payload, which may be large
	}
	return lines
}
