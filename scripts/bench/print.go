package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"attestry/scripts/bench/measure"
)

func (f *findings) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(f)
}

// writeMarkdown prints tables for docs/benchmarks.md.
func (f *findings) writeMarkdown(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "`%s`\n\n", f.Command)
	fmt.Fprintf(&text, "%s; %s, %d cores, %s; 4 KiB are durable in %.2f ms; %s.\n\n",
		f.Date, f.Machine.Platform, f.Machine.Cores, f.Machine.Go, f.Machine.Sync, strings.Join(f.Engines, "; "))
	text.WriteString("| row | per second | p50 ms | p95 ms | p99 ms | CPU ms | count | answer bytes | bare: per second | p50 ms | p95 ms | p99 ms | CPU ms | count | ratio (least..most) |\n")
	text.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range f.Rows {
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %.3f (%.3f..%.3f) |\n",
			r.Name, cells(r.Service), answerCell(r), cells(r.Baseline), r.Ratio.Overall, r.Ratio.Min, r.Ratio.Max)
	}
	f.writeGrowths(&text)
	_, err := io.WriteString(out, text.String())
	return err
}

// writeGrowths prints what the same takes at several sizes.
func (f *findings) writeGrowths(text *strings.Builder) {
	if len(f.Growths) == 0 {
		return
	}
	text.WriteString("\n| row | over the one at | time (p50) | CPU |\n|---|--:|--:|--:|\n")
	for _, g := range f.Growths {
		fmt.Fprintf(text, "| %s | %d | × %.2f | × %.2f |\n", g.Name, g.From, g.Time, g.CPU)
	}
}

func answerCell(r measure.Result) string {
	if r.AnswerBytes == 0 {
		return ""
	}
	return strconv.Itoa(r.AnswerBytes)
}

func cells(s measure.Summary) string {
	return fmt.Sprintf("%.1f | %.2f | %.2f | %.2f | %.2f | %d", s.PerSecond, s.P50, s.P95, s.P99, s.CPU, s.Count)
}
