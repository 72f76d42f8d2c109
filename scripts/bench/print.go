package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

func (f *findings) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(f)
}

// writeMarkdown prints a table for docs/benchmarks.md.
func (f *findings) writeMarkdown(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "`%s`\n\n", f.Command)
	fmt.Fprintf(&text, "%s; %s, %d cores, %s; 4 KiB are durable in %.2f ms; %s.\n\n",
		f.Date, f.Machine.Platform, f.Machine.Cores, f.Machine.Go, f.Machine.Sync, strings.Join(f.Engines, "; "))
	text.WriteString("| row | per second | p50 ms | p95 ms | p99 ms | CPU ms | count | bare: per second | p50 ms | p95 ms | p99 ms | CPU ms | count | ratio (least..most) |\n")
	text.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range f.Rows {
		fmt.Fprintf(&text, "| %s | %s | %s | %.3f (%.3f..%.3f) |\n",
			r.Name, r.Service.cells(), r.Bare.cells(), r.Ratio.Whole, r.Ratio.Least, r.Ratio.Most)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func (s summary) cells() string {
	return fmt.Sprintf("%.1f | %.2f | %.2f | %.2f | %.2f | %d", s.PerSecond, s.P50, s.P95, s.P99, s.Processor, s.Count)
}
