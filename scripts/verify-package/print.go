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
// are quoted. compared is nil if the log was not read.
func printResult(out io.Writer, result *audit.Result, o *options, compared *comparison) {
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
	printProofs(out, result, o, compared)
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
		fmt.Fprintf(out, "verdict  %s, and the facts in the package say so%s\n", printable(string(manifest.Status)), exceptions(result))
	default:
		fmt.Fprintf(out, "verdict  the package is complete and agrees with itself%s\n", exceptions(result))
	}
}

func exceptions(result *audit.Result) (text string) {
	if n := len(result.Manifest.LostEvidence); n > 0 {
		text = fmt.Sprintf("; evidence files that the service had lost: %d", n)
	}
	if n := len(result.Log.Unlogged); n > 0 {
		text += fmt.Sprintf("; facts that are not in the log: %d", n)
	}
	return text
}

// printProofs prints what the log proves of a package, and what was not proven.
func printProofs(out io.Writer, result *audit.Result, o *options, compared *comparison) {
	for i, name := range result.Log.Unlogged {
		if i == maxPrinted {
			fmt.Fprintf(out, "UNLOGGED and %d more\n", len(result.Log.Unlogged)-maxPrinted)
			break
		}
		fmt.Fprintf(out, "UNLOGGED %s: the log does not have it\n", printable(name))
	}
	if len(o.keys) == 0 {
		fmt.Fprintln(out, "note     not proven without --log-key: that the service has issued the package, and recorded what is in it")
		return
	}
	if len(result.Findings) > 0 {
		return
	}
	fmt.Fprintf(out, "log      %s has signed the package, and has %d facts of it among its first %d entries\n",
		printable(result.Log.Checkpoint.Origin), len(result.Log.Entries), result.Log.Checkpoint.Size)
	switch {
	case compared == nil:
		fmt.Fprintln(out, "note     not proven without --log: that nothing was left out")
	case result.Manifest.Subject.Kind != audit.OfTrail:
		fmt.Fprintf(out, "note     the log has %d more facts of the trails, which are not all in packages of this kind\n", compared.more)
	case compared.ofTrail == 0:
		fmt.Fprintln(out, "note     not proven: that nothing was left out, as the package has no entry that shows what the trail is called in the log")
	default:
		fmt.Fprintln(out, "log      these have nothing else of the trail")
	}
	if o.kept != nil {
		fmt.Fprintf(out, "log      the %d entries of the earlier checkpoint are the same now\n", o.kept.Size)
	}
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
