package main

import (
	_ "embed" // result.txt and bundle.txt
	"fmt"
	"io"
	"strconv"
	"text/template"
	"time"

	"attestry/evidence/audit"
)

const maxPrinted = 100

var (
	//go:embed result.txt
	resultText     string
	resultTemplate = newTemplate(resultText)
	//go:embed bundle.txt
	bundleText     string
	bundleTemplate = newTemplate(bundleText)
)

func newTemplate(text string) *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"quote": strconv.Quote, "printable": printable}).Parse(text))
}

// printed is the data of resultTemplate: the first maxPrinted facts and findings, and the numbers of further ones.
type printed struct {
	*audit.Result
	*options
	Compared                   *comparison
	Subject, MadeAt, Status    string
	OfTrail                    bool
	Unlogged                   []string
	Findings                   []audit.Finding
	MoreUnlogged, MoreFindings int
}

// printResult prints the result. It quotes names, as those in a package may be anything. compared is nil if the log was
// not read.
func printResult(out io.Writer, result *audit.Result, o *options, compared *comparison) error {
	manifest := result.Manifest
	p := printed{
		Result: result, options: o, Compared: compared, Subject: describe(&manifest.Subject), Status: string(manifest.Status),
		MadeAt:  time.UnixMilli(int64(manifest.CreatedAt * 1000)).UTC().Format(time.RFC3339),
		OfTrail: manifest.Subject.Kind == audit.OfTrail,
	}
	p.Unlogged, p.MoreUnlogged = first(result.Log.Unlogged)
	if p.Findings, p.MoreFindings = first(result.Findings); p.MoreFindings > 0 {
		p.MoreFindings += result.OmittedFindings
	}
	return resultTemplate.Execute(out, p)
}

func first[T any](all []T) (shown []T, more int) {
	shown = all[:min(len(all), maxPrinted)]
	return shown, len(all) - len(shown)
}

func describe(of *audit.Subject) string {
	flow := fmt.Sprintf("flow %s of organization %s", strconv.Quote(of.Flow), strconv.Quote(of.Organization))
	switch of.Kind {
	case audit.OfArtifact:
		return fmt.Sprintf("artifact %s in %s", printable(of.Fingerprint), flow)
	case audit.OfAttestation:
		return fmt.Sprintf("attestation %s in trail %s of %s", printable(of.Attestation), strconv.Quote(of.Trail), flow)
	default:
		return fmt.Sprintf("trail %s of %s", strconv.Quote(of.Trail), flow)
	}
}

// printable escapes characters that control the terminal.
func printable(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return quoted[1 : len(quoted)-1]
}
