package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"attestry/evidence/audit"
)

const maxPrinted = 100

// printResult prints what the verification has come to. Names in a package may be anything, so they
// are quoted.
func printResult(out io.Writer, result *audit.Result) {
	manifest := result.Manifest
	of := &manifest.Subject
	fmt.Fprintf(out, "package  of %s\n", describe(of))
	fmt.Fprintf(out, "made by  %s\n", strconv.Quote(manifest.Generator))
	fmt.Fprintf(out, "as of    %s\n", time.UnixMilli(int64(manifest.CreatedAt*1000)).UTC().Format(time.RFC3339))
	fmt.Fprintf(out, "members  %d, with %d artifacts and %d attestations\n", result.Members, result.Artifacts, result.Attestations)
	if result.NotEvaluated > 0 {
		fmt.Fprintf(out, "note     attestations whose verdict could not be evaluated again: %d\n", result.NotEvaluated)
	}
	for _, lost := range manifest.LostEvidence {
		fmt.Fprintf(out, "LOST     %s: %s\n", strconv.Quote(lost.Path), printable(lost.Reason))
	}
	for i, finding := range result.Findings {
		if i == maxPrinted {
			fmt.Fprintf(out, "FAILED   and %d more\n", len(result.Findings)-maxPrinted+result.OmittedFindings)
			break
		}
		fmt.Fprintf(out, "FAILED   %s\n", printable(finding.String()))
	}
	switch {
	case len(result.Findings) > 0:
		fmt.Fprintln(out, "verdict  the package was altered, or does not agree with itself")
	case of.Kind == audit.OfTrail:
		fmt.Fprintf(out, "verdict  %s, and the facts in the package say so%s\n", printable(string(manifest.Status)), exceptLost(manifest))
	default:
		fmt.Fprintf(out, "verdict  the package is complete and agrees with itself%s\n", exceptLost(manifest))
	}
}

func exceptLost(manifest *audit.Manifest) string {
	if n := len(manifest.LostEvidence); n > 0 {
		return fmt.Sprintf("; evidence files that the service had lost: %d", n)
	}
	return ""
}

func describe(of *audit.Subject) string {
	place := fmt.Sprintf("flow %s of organization %s", strconv.Quote(of.Flow), strconv.Quote(of.Organization))
	switch of.Kind {
	case audit.OfArtifact:
		return fmt.Sprintf("artifact %s in %s", printable(of.Fingerprint), place)
	case audit.OfAttestation:
		return fmt.Sprintf("attestation %s in trail %s of %s", printable(of.Attestation), strconv.Quote(of.Trail), place)
	default:
		return fmt.Sprintf("trail %s of %s", strconv.Quote(of.Trail), place)
	}
}

// printable is text in which nothing controls the terminal.
func printable(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return quoted[1 : len(quoted)-1]
}
