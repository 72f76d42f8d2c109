package results

import (
	"bytes"
	"strings"
	"testing"

	"attestry/scripts/bench/benchtest/measure"
)

func TestCommandLeavesOutCredentials(t *testing.T) {
	got := command([]string{"--mongodb", "mongodb://user:p@ss@host:1/db?a=b&c=d", "--redis", "redis://:pass@host/0", "--json"})
	want := "go run ./scripts/bench --mongodb 'mongodb://…@host:1/db?a=b&c=d' --redis redis://…@host/0 --json"
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestThroughputsArePrinted(t *testing.T) {
	r := Results{Workloads: []measure.Result{
		{Name: "plain"},
		{Name: "bytes", Bytes: 2 << 20, Service: measure.Summary{PerSecond: 3, Memory: 4.5}, Baseline: measure.Summary{PerSecond: 1}},
		{Name: "beside", Beside: 7},
	}}
	var out bytes.Buffer
	err := r.WriteMarkdown(&out)
	_, table, _ := strings.Cut(out.String(), "beside: ms | baseline: MiB per second |\n|---|--:|--:|--:|--:|\n")
	if want := "| bytes | 6.0 | 4.5 |  | 2.0 |\n| beside |  | 0.0 | 7.0 |  |\n"; err != nil || table != want {
		t.Errorf("%v, printed %s", err, out.String())
	}
}

func TestScalingsArePrinted(t *testing.T) {
	r := Results{Scalings: []measure.Scaling{{Name: "subject 1000, 1 client", From: 100, To: 1_000, Time: 3, CPU: 3}}}
	var out bytes.Buffer
	if err := r.WriteMarkdown(&out); err != nil || !strings.Contains(out.String(), "| subject 1000, 1 client | 100 | × 3.00 | × 3.00 |") {
		t.Errorf("%v, printed %s", err, out.String())
	}
}
