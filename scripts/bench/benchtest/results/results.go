// Package results prints the results of a run of the benchmarks, with its conditions.
package results

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"attestry/scripts/bench/benchtest/measure"
	"attestry/scripts/bench/benchtest/workload"
)

// Results are the results of a run, with its conditions.
type Results struct {
	Date      string            `json:"date"`
	Command   string            `json:"command"`
	Machine   machine           `json:"machine"`
	Engines   []string          `json:"engines"`
	Workloads []measure.Result  `json:"rows"`
	Scalings  []measure.Scaling `json:"growths"`
	// Comparisons are with another program. A run that compares has no other results.
	Comparisons []measure.Comparison `json:"comparisons,omitempty"`
}

type machine struct {
	Platform string `json:"platform"`
	Cores    int    `json:"cores"`
	Go       string `json:"go"`
	// Sync is the median time that the disk takes to write and sync 4 KiB, in milliseconds.
	Sync float64 `json:"sync_ms"`
}

// New returns the conditions of a run with arguments and engines, without results. It measures the disk of directory.
func New(args []string, engines workload.Engines, directory string) (Results, error) {
	sync, err := syncTime(directory)
	return Results{
		Date:    time.Now().UTC().Format(time.DateOnly),
		Command: command(args),
		Machine: machine{Platform: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.GOMAXPROCS(0), Go: runtime.Version(), Sync: sync.Seconds() * 1000},
		Engines: describe(engines),
	}, err
}

// describe names the engines without their addresses, which may hold secrets.
func describe(e workload.Engines) []string {
	pick := func(address, real, embedded string) string {
		if address != "" {
			return real
		}
		return embedded
	}
	return []string{
		pick(e.MongoDB, "MongoDB", "Pebble (synced batches)"),
		pick(e.Redis, "a Redis server", "miniredis, in process: its scripts cap changed reports"),
		pick(e.S3, "S3", "files"),
	}
}

// command returns the command line of the run, without the credentials in addresses.
func command(args []string) string {
	credentials := regexp.MustCompile(`//[^/]*@`)
	words := []string{"go run ./scripts/bench"}
	for _, arg := range args {
		arg = credentials.ReplaceAllString(arg, "//…@")
		if strings.ContainsAny(arg, " &?*'\"$") {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// syncTime returns the median time to write and sync 4 KiB in a directory, which is the least time of a durable write.
func syncTime(directory string) (time.Duration, error) {
	file, err := os.CreateTemp(directory, "attestry-bench-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	var durations []time.Duration
	for range 31 {
		start := time.Now()
		_, err := file.Write(make([]byte, 4<<10))
		if err := cmp.Or(err, file.Sync()); err != nil {
			return 0, err
		}
		durations = append(durations, time.Since(start))
	}
	slices.Sort(durations)
	return measure.Percentile(durations, 50), nil
}

// WriteJSON writes the results as JSON.
func (r *Results) WriteJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

//go:embed results.tmpl
var markdownText string

// markdown has the tables for docs/benchmarks.md.
var markdown = template.Must(template.New("").Funcs(template.FuncMap{"join": strings.Join, "mebibytes": mebibytes}).Parse(markdownText))

// WriteMarkdown writes the results as tables.
func (r *Results) WriteMarkdown(out io.Writer) error { return markdown.Execute(out, r) }

// mebibytes formats a throughput in MiB per second, "" for workloads without one.
func mebibytes(bytes int64, perSecond float64) string {
	if bytes == 0 || perSecond == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(bytes)/(1<<20)*perSecond, 'f', 1, 64)
}

// Throughputs are the workloads with bytes or an operation beside them, which have further figures.
func (r *Results) Throughputs() []measure.Result {
	return slices.DeleteFunc(slices.Clone(r.Workloads), func(w measure.Result) bool { return w.Bytes == 0 && w.Beside == 0 })
}
