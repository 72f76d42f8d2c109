package measure

import (
	"math"
	"slices"
	"time"
)

// sample is what the clients of one side did in some time.
type sample struct {
	latencies []time.Duration
	elapsed   time.Duration
	// processor is the time that this process kept cores busy meanwhile.
	processor time.Duration
}

func (s *sample) add(more sample) {
	s.latencies = append(s.latencies, more.latencies...)
	s.elapsed += more.elapsed
	s.processor += more.processor
}

// rate is operations per second, of all clients together.
func (s *sample) rate() float64 {
	if s.elapsed <= 0 {
		return 0
	}
	return float64(len(s.latencies)) / s.elapsed.Seconds()
}

// Summary is a sample in figures; latencies are in milliseconds. Processor is
// milliseconds of a core per operation, the clients' share included: the figure
// that others on the same machine disturb least.
type Summary struct {
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_ms"`
	P95       float64 `json:"p95_ms"`
	P99       float64 `json:"p99_ms"`
	Processor float64 `json:"cpu_ms"`
	Count     int     `json:"count"`
}

func (s *sample) summarize() Summary {
	sorted := slices.Sorted(slices.Values(s.latencies))
	return Summary{
		PerSecond: s.rate(),
		P50:       Milliseconds(Percentile(sorted, 50)),
		P95:       Milliseconds(Percentile(sorted, 95)),
		P99:       Milliseconds(Percentile(sorted, 99)),
		Processor: Milliseconds(s.processor) / float64(max(len(sorted), 1)),
		Count:     len(sorted),
	}
}

// Milliseconds is a duration in milliseconds.
func Milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// Percentile is the smallest value that at least p percent of the sorted values
// do not exceed (nearest rank), 0 of none.
func Percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Ratio is the service's rate over the bare handler's: of the whole row, and the
// least and the greatest of its slices, which tell how far to trust it.
type Ratio struct {
	Whole float64 `json:"whole"`
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

// compare relates two sides that were measured slice by slice in turns.
func compare(service, bare []sample) Ratio {
	var all, allBare sample
	var parts []float64
	for i := range service {
		all.add(service[i])
		allBare.add(bare[i])
		parts = append(parts, service[i].rate()/bare[i].rate())
	}
	return Ratio{Whole: all.rate() / allBare.rate(), Least: slices.Min(parts), Most: slices.Max(parts)}
}
