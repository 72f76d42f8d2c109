package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"attestry/scripts/bench/benchtest/measure"
)

func (r *results) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// writeMarkdown prints tables for docs/benchmarks.md.
func (r *results) writeMarkdown(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "`%s`\n\n", r.Command)
	fmt.Fprintf(&text, "%s; %s, %d cores, %s; 4 KiB are durable in %.2f ms; %s.\n\n",
		r.Date, r.Machine.Platform, r.Machine.Cores, r.Machine.Go, r.Machine.Sync, strings.Join(r.Engines, "; "))
	if len(r.Comparisons) > 0 {
		r.writeComparisons(&text)
		_, err := io.WriteString(out, text.String())
		return err
	}
	text.WriteString("| workload | per second | p50 ms | p95 ms | p99 ms | CPU ms | count | answer bytes | baseline: per second | p50 ms | p95 ms | p99 ms | CPU ms | count | ratio (min..max) |\n")
	text.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, w := range r.Workloads {
		answerBytes := ""
		if w.AnswerBytes > 0 {
			answerBytes = strconv.Itoa(w.AnswerBytes)
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %.3f (%.3f..%.3f) |\n",
			w.Name, cells(w.Service), answerBytes, cells(w.Baseline), w.Ratio.Overall, w.Ratio.Min, w.Ratio.Max)
	}
	r.writeThroughputs(&text)
	if len(r.Scalings) > 0 {
		text.WriteString("\n| workload | over size | time (p50) | CPU |\n|---|--:|--:|--:|\n")
	}
	for _, s := range r.Scalings {
		fmt.Fprintf(&text, "| %s | %d | × %.2f | × %.2f |\n", s.Name, s.From, s.Time, s.CPU)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// writeThroughputs prints what only some workloads have: bytes, memory, and the time of what was done beside.
func (r *results) writeThroughputs(text *strings.Builder) {
	written := slices.DeleteFunc(slices.Clone(r.Workloads), func(w measure.Result) bool { return w.Bytes == 0 && w.Beside == 0 })
	if len(written) > 0 {
		text.WriteString("\n| workload | MiB per second | memory MiB | beside: ms | baseline: MiB per second |\n|---|--:|--:|--:|--:|\n")
	}
	for _, w := range written {
		mib := float64(w.Bytes) / (1 << 20)
		fmt.Fprintf(text, "| %s | %s | %.1f | %s | %s |\n",
			w.Name, unlessZero(mib*w.Service.PerSecond), w.Service.Memory, unlessZero(w.Beside), unlessZero(mib*w.Baseline.PerSecond))
	}
}

// unlessZero leaves the cells of what was not measured empty.
func unlessZero(figure float64) string {
	if figure == 0 {
		return ""
	}
	return strconv.FormatFloat(figure, 'f', 1, 64)
}

func (r *results) writeComparisons(text *strings.Builder) {
	text.WriteString("| workload | per second | p50 ms | p95 ms | p99 ms | CPU ms | count | other: per second | p50 ms | p95 ms | p99 ms | CPU ms | count | ratio (min..max) | CPU ratio |\n")
	text.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range r.Comparisons {
		fmt.Fprintf(text, "| %s | %s | %s | %.2f (%.2f..%.2f) | %.2f |\n",
			c.Name, cells(c.Own), cells(c.Other), c.Ratio.Overall, c.Ratio.Min, c.Ratio.Max, c.Other.CPU/c.Own.CPU)
	}
}

func cells(s measure.Summary) string {
	return fmt.Sprintf("%.1f | %.2f | %.2f | %.2f | %.2f | %d", s.PerSecond, s.P50, s.P95, s.P99, s.CPU, s.Count)
}
