package measure

import (
	"math"
	"slices"
	"time"
)

// sample has the measurements of all clients in one round.
type sample struct {
	latencies []time.Duration
	elapsed   time.Duration
	cpu       time.Duration
	// beside is the time of Client.Beside.
	beside time.Duration
	// memory is the maximum memory of the program beyond that at the beginning, in bytes.
	memory uint64
}

func merge(samples []sample) sample {
	var all sample
	for _, s := range samples {
		all.latencies = append(all.latencies, s.latencies...)
		all.elapsed += s.elapsed
		all.cpu += s.cpu
		all.memory = max(all.memory, s.memory)
	}
	return all
}

// throughput returns the operations per second of all clients together.
func (s sample) throughput() float64 { return float64(len(s.latencies)) / s.elapsed.Seconds() }

// Summary describes the operations on one side.
type Summary struct {
	// PerSecond counts operations of all clients together.
	PerSecond float64 `json:"per_second"`
	// P50 to P99 are percentiles of the latency in milliseconds.
	P50 float64 `json:"p50_ms"`
	P95 float64 `json:"p95_ms"`
	P99 float64 `json:"p99_ms"`
	// CPU is milliseconds of processor time per operation, clients included. Other processes affect it least.
	CPU   float64 `json:"cpu_ms"`
	Count int     `json:"count"`
	// Memory is the maximum of heap and stacks beyond that at the beginning of a round, in MiB.
	Memory float64 `json:"memory_mib"`
}

func (s sample) summarize() Summary {
	sorted := slices.Sorted(slices.Values(s.latencies))
	return Summary{
		PerSecond: s.throughput(),
		P50:       milliseconds(Percentile(sorted, 50)),
		P95:       milliseconds(Percentile(sorted, 95)),
		P99:       milliseconds(Percentile(sorted, 99)),
		CPU:       milliseconds(s.cpu) / float64(len(sorted)),
		Count:     len(sorted),
		Memory:    float64(s.memory) / (1 << 20),
	}
}

// medianBeside returns the median time of Client.Beside.
func medianBeside(rounds []sample) time.Duration {
	var durations []time.Duration
	for _, s := range rounds {
		durations = append(durations, s.beside)
	}
	slices.Sort(durations)
	return Percentile(durations, 50)
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// Percentile returns the smallest of the sorted values that at least p percent do not exceed (nearest rank), or 0 if
// there are none.
func Percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// Ratio is the service's throughput over the baseline's: overall, and the minimum and maximum of the rounds.
type Ratio struct {
	Overall float64 `json:"whole"`
	Min     float64 `json:"least"`
	Max     float64 `json:"most"`
}

// compare compares the samples of the rounds.
func compare(service, baseline []sample) Ratio {
	var rounds []float64
	for i := range service {
		rounds = append(rounds, service[i].throughput()/baseline[i].throughput())
	}
	return Ratio{
		Overall: merge(service).throughput() / merge(baseline).throughput(),
		Min:     slices.Min(rounds),
		Max:     slices.Max(rounds),
	}
}

// Scaling compares a result with that of the next smaller size in the same run.
type Scaling struct {
	Name string `json:"of"`
	From int    `json:"from"`
	To   int    `json:"to"`
	// Time is the ratio of the median latencies, CPU that of the processor times.
	Time float64 `json:"time"`
	CPU  float64 `json:"processor"`
}

// Scalings compares each result with the one before it in its series, in order of size.
func Scalings(results []Result) []Scaling {
	var scalings []Scaling
	smaller := map[string]Result{} // by series
	for _, r := range results {
		if s, ok := smaller[r.Series]; ok {
			scalings = append(scalings, Scaling{
				Name: r.Name, From: s.Size, To: r.Size,
				Time: r.Service.P50 / s.Service.P50,
				CPU:  r.Service.CPU / s.Service.CPU,
			})
		}
		smaller[r.Series] = r
	}
	return scalings
}
