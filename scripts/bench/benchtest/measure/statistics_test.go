package measure

import (
	"math"
	"testing"
	"time"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i+1) * time.Millisecond
	}
	for _, c := range []struct {
		name   string
		sorted []time.Duration
		p      float64
		want   time.Duration
	}{
		{"median of a hundred", hundred, 50, 50 * time.Millisecond},
		{"95 of a hundred", hundred, 95, 95 * time.Millisecond},
		{"99 of a hundred", hundred, 99, 99 * time.Millisecond},
		{"all of a hundred", hundred, 100, 100 * time.Millisecond},
		{"median of three", hundred[:3], 50, 2 * time.Millisecond},
		{"99 of three is the greatest", hundred[:3], 99, 3 * time.Millisecond},
		{"0 of one", hundred[:1], 0, time.Millisecond},
		{"99 of none", nil, 99, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Percentile(c.sorted, c.p); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestSummaryIncludesAllRounds(t *testing.T) {
	got := merge([]sample{
		{latencies: []time.Duration{30 * time.Millisecond, 10 * time.Millisecond}, elapsed: time.Second, cpu: 40 * time.Millisecond},
		{latencies: []time.Duration{20 * time.Millisecond, 40 * time.Millisecond}, elapsed: time.Second, cpu: 20 * time.Millisecond},
	}).summarize()
	want := Summary{PerSecond: 2, P50: 20, P95: 40, P99: 40, CPU: 15, Count: 4}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRatioIsOverallAndPerRound(t *testing.T) {
	of := func(count int) sample {
		return sample{latencies: make([]time.Duration, count), elapsed: time.Second}
	}
	got := compare([]sample{of(10), of(30)}, []sample{of(100), of(100)})
	for name, pair := range map[string][2]float64{
		"overall": {got.Overall, 0.2}, "minimum": {got.Min, 0.1}, "maximum": {got.Max, 0.3},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
}
