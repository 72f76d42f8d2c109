package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"attestry/evidence"
	"attestry/scripts/clienttest"
)

const (
	// imagesPerCluster is how many images run in each environment. One report of changedEvery replaces one of them.
	imagesPerCluster, changedEvery = 10, 10
	// thinkTime is the pause of pipelines and auditors between rounds.
	thinkTime = time.Second
	// sampleInterval is how often memory and disk are measured.
	sampleInterval = 2 * time.Second
)

// load is a load test: the requests of users, and their latencies.
type load struct {
	address, org, metrics, data       string
	duration, interval                time.Duration
	environments, pipelines, auditors int

	client *clienttest.Client
	// scope is a prefix of names, which is unique among the runs in an organization.
	scope string

	began    time.Time
	mutex    sync.Mutex
	requests []measured
	sizes    []size
}

// measured is a request that was answered or failed.
type measured struct {
	name     string
	at, took time.Duration
	err      string // "" if it succeeded
}

// size is the memory and disk space of the service at a time, in bytes.
type size struct {
	at           time.Duration
	memory, disk float64
}

// step is a request with its name in the results.
type step struct {
	name string
	clienttest.Request
}

func (l *load) name(kind string, number int) string {
	return fmt.Sprintf("%s-%s-%d", l.scope, kind, number)
}

func digest(parts ...any) string {
	return evidence.SHA256([]byte(fmt.Sprint(parts...)))
}

// prepare creates the environments.
func (l *load) prepare(ctx context.Context) error {
	for i := range l.environments {
		status, body, err := l.client.Send(ctx, clienttest.CreateEnvironment(l.name("environment", i)))
		if err == nil && status != http.StatusCreated {
			err = fmt.Errorf("status %d %.300s", status, body)
		}
		if err != nil {
			return fmt.Errorf("create an environment: %w", err)
		}
	}
	return nil
}

// work runs all users for the duration.
func (l *load) work(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, l.duration)
	defer stop()
	l.began = time.Now()
	var group sync.WaitGroup
	// The users begin one after another, so that their requests do not coincide.
	users := func(number int, first, rest time.Duration, round func(i, n int) []step) {
		for i := range number {
			group.Go(func() {
				wait(ctx, first+rest*time.Duration(i)/time.Duration(number))
				for n := 0; ctx.Err() == nil; n++ {
					l.send(ctx, round(i, n))
					wait(ctx, rest)
				}
			})
		}
	}
	users(l.environments, 0, l.interval, l.report)
	users(l.pipelines, 0, thinkTime, l.pipeline)
	// Auditors begin when each environment has reported.
	users(l.auditors, l.interval+thinkTime, thinkTime, l.audit)
	group.Go(func() {
		for ; ctx.Err() == nil; wait(ctx, sampleInterval) {
			l.sizes = append(l.sizes, size{time.Since(l.began), memoryOf(l.metrics), sizeOf(l.data)})
		}
	})
	group.Wait()
}

// send sends requests and measures them.
func (l *load) send(ctx context.Context, steps []step) {
	for _, s := range steps {
		sent := time.Now()
		status, _, err := l.client.Send(ctx, s.Request)
		if ctx.Err() != nil {
			return
		}
		m := measured{name: s.name, at: sent.Sub(l.began), took: time.Since(sent)}
		if err != nil {
			m.err = s.name + ": no answer"
		} else if status != http.StatusOK && status != http.StatusCreated {
			m.err = fmt.Sprintf("%s: status %d", s.name, status)
		}
		l.mutex.Lock()
		l.requests = append(l.requests, m)
		l.mutex.Unlock()
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// report returns the n-th report of a cluster.
func (l *load) report(i, n int) []step {
	environment, name := l.name("environment", i), "report, unchanged"
	images := make([]string, imagesPerCluster)
	for image := range images {
		images[image] = digest(environment, image)
	}
	// The clusters replace images in different rounds.
	changes := (n + i) / changedEvery
	images[changes%len(images)] = digest(environment, "new", changes)
	if n == 0 || (n+i)%changedEvery == 0 {
		name = "report, changed"
	}
	return []step{{name, clienttest.ReportCluster(environment, images...)}}
}

// pipeline returns the requests of the n-th run of a pipeline.
func (l *load) pipeline(i, n int) []step {
	flow, trail := l.name("flow", i), l.name("trail", n)
	artifact := digest(flow, trail)
	var evidence []byte
	if n%10 == 0 {
		evidence = []byte(strings.Repeat(artifact, 1_000))
	}
	return []step{
		{"artifact", clienttest.ReportArtifact(flow, trail, artifact, "")},
		{"trail", clienttest.BeginTrail(flow, trail)},
		{"attestation", clienttest.Attest(flow, trail, "", "unit-test", "", true, evidence)},
		{"attestation", clienttest.Attest(flow, trail, artifact, "scan", "", true, nil)},
	}
}

// audit returns the requests of an auditor for a run of a pipeline and for an environment.
func (l *load) audit(i, n int) []step {
	get := func(name, path string, args ...any) step {
		return step{name, clienttest.Request{Method: http.MethodGet, Path: fmt.Sprintf(path, args...)}}
	}
	flow, environment := l.name("flow", (i+n)%l.pipelines), l.name("environment", (i*97+n)%l.environments)
	steps := []step{
		get("list of trails", "/trails/{org}/%s?per_page=20", flow), get("trail, read", "/trails/{org}/%s/%s", flow, l.name("trail", 0)),
		get("snapshot", "/snapshots/{org}/%s/-1", environment), get("events", "/environments/{org}/%s/events", environment),
	}
	if n%10 == 9 {
		steps = append(steps, get("audit package", "/trails/{org}/%s/%s/audit_package", flow, l.name("trail", n/10)))
	}
	return steps
}

// memoryOf returns the resident memory of a process by its metrics, or 0 if it is unknown.
func memoryOf(metrics string) (bytes float64) {
	answer, err := http.Get(metrics)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body) // an incomplete answer counts as unknown
	_, after, _ := strings.Cut(string(body), "\nprocess_resident_memory_bytes ")
	fmt.Sscan(after, &bytes)
	return bytes
}

// sizeOf returns the size of all files below a folder, or 0 if there is no such folder.
func sizeOf(folder string) (bytes float64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				bytes += float64(info.Size())
			}
		}
		return nil // files may be removed meanwhile
	})
	return bytes
}
