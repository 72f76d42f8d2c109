package main

import (
	_ "embed"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"attestry/scripts/bench/benchtest/measure"
)

func (r *results) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

//go:embed results.md.tmpl
var markdownText string

// markdown has the tables for docs/benchmarks.md.
var markdown = template.Must(template.New("").Funcs(template.FuncMap{"join": strings.Join, "mebibytes": mebibytes}).Parse(markdownText))

func (r *results) writeMarkdown(out io.Writer) error { return markdown.Execute(out, r) }

// mebibytes is a throughput in MiB per second, "" for workloads without one.
func mebibytes(bytes int64, perSecond float64) string {
	if bytes == 0 || perSecond == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(bytes)/(1<<20)*perSecond, 'f', 1, 64)
}

// Throughputs are the workloads that have what only some have: bytes, memory, and the time of what was done beside.
func (r *results) Throughputs() []measure.Result {
	return slices.DeleteFunc(slices.Clone(r.Workloads), func(w measure.Result) bool { return w.Bytes == 0 && w.Beside == 0 })
}

// CPURatio is how many times the processor time of this program the other one takes.
func (c comparison) CPURatio() float64 { return c.Other.CPU / c.Own.CPU }
