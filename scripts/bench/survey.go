package main

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"attestry/scripts/bench/measure"
	"attestry/scripts/bench/workload"
)

// findings are the rows of one run with what is needed to read and repeat them.
type findings struct {
	Date    string            `json:"date"`
	Command string            `json:"command"`
	Machine machine           `json:"machine"`
	Engines []string          `json:"engines"`
	Rows    []measure.Result  `json:"rows"`
	Growths []measure.Scaling `json:"growths"`
}

// machine is what the run had to itself, or shared.
type machine struct {
	Platform string `json:"platform"`
	Cores    int    `json:"cores"`
	Go       string `json:"go"`
	// Sync is the median time that the disk takes to make 4 KiB durable, in
	// milliseconds.
	Sync float64 `json:"sync_ms"`
}

// survey notes the conditions of a run.
func survey(folder string, args []string, on workload.Engines) (findings, error) {
	took, err := syncTime(folder)
	return findings{
		Date:    time.Now().UTC().Format(time.DateOnly),
		Command: command(args),
		Machine: machine{
			Platform: runtime.GOOS + "/" + runtime.GOARCH,
			Cores:    runtime.GOMAXPROCS(0),
			Go:       runtime.Version(),
			Sync:     took.Seconds() * 1000,
		},
		Engines: describe(on),
	}, err
}

// describe names the engines, without their addresses, which may hold secrets.
func describe(e workload.Engines) []string {
	pick := func(address, real, embedded string) string {
		if address != "" {
			return real
		}
		return embedded
	}
	return []string{
		pick(e.MongoDB, "MongoDB", "SQLite (WAL, synchronous=FULL)"),
		pick(e.Redis, "a Redis server", "miniredis, in process: it caps changed reports at about 250/s"),
		pick(e.S3, "S3", "files"),
	}
}

// command is how the run is repeated, the credentials in addresses left out.
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

// syncTime measures what each durable write pays at least, whatever the software.
func syncTime(folder string) (time.Duration, error) {
	file, err := os.Create(filepath.Join(folder, "sync"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var took []time.Duration
	for range 31 {
		began := time.Now()
		_, err := file.Write(make([]byte, 4<<10))
		if err := cmp.Or(err, file.Sync()); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
