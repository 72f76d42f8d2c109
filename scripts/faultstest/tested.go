package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"attestry/scripts/clienttest"
)

const (
	// recoveryTime bounds the wait for the recovery from a fault.
	recoveryTime = time.Minute
	// restTime is how long the service may take to finish what it has accepted. The reconciler takes up to two minutes.
	restTime = 5 * time.Minute
)

// tested is a service with its writers.
type tested struct {
	*system
	*ledger
	client   *clienttest.Client
	receiver *receiver
	writers  []*writer
	enough   atomic.Bool
	// logical is how many snapshots the logical environment had before its members had any.
	logical int
	// keys are the verifier keys of the log.
	keys []string
}

// prepare creates flows, environments, policies and actions of writers.
func prepare(ctx context.Context, s *system, writers int, pause time.Duration) (*tested, error) {
	t := &tested{system: s, ledger: newLedger(), client: clienttest.New(organization, apiKey, s.addresses...)}
	var err error
	if t.receiver, err = newReceiver(); err != nil {
		return nil, err
	}
	requests := []clienttest.Request{clienttest.Form(http.MethodPut, "/policies/{org}", "payload", `{"name": "policy"}`, "policy_file", []byte(policy))}
	var names []string
	for i := range writers {
		w := &writer{name: fmt.Sprintf("writer-%d", i), client: t.client, ledger: t.ledger, pause: pause}
		t.writers, names = append(t.writers, w), append(names, fmt.Sprintf("%q", w.name))
		requests = append(requests, w.setup()...)
	}
	all := strings.Join(names, ", ")
	action := func(kind, list, triggers string) clienttest.Request {
		return clienttest.JSON(http.MethodPut, "/actions/{org}/"+list, `{"name": %q, "type": %q, %q: [%s], "triggers": [%s],
			"targets": [{"type": "WEBHOOK", "webhook": %q}]}`, list, kind, list, all, triggers, t.receiver.address)
	}
	requests = append(requests,
		clienttest.JSON(http.MethodPut, "/environments/{org}", `{"name": %q, "type": "logical", "description": "", "included_environments": [%s]}`, logicalEnvironment, all),
		action("flow", "flows", `"ON_STARTED_TRAIL", "ON_ATTESTED_PROVENANCE", "ON_ATTESTATION"`), action("env", "environments", `"ON_STARTED_ARTIFACT"`))
	for _, r := range requests {
		if _, err := t.writers[0].send(ctx, "", "", "", func(string) clienttest.Request { return r }); err != nil {
			return nil, err
		}
	}
	c := collection{ledger: newLedger(), client: t.client}
	t.logical = c.snapshots(ctx, logicalEnvironment)
	// Other processes may cache the actions for half a second.
	return t, errors.Join(c.err, sleep(time.Second))
}

// run lets the writers write while it injects faults for a time, each at least once, and prints a table of the faults.
func (t *tested) run(ctx context.Context, duration time.Duration, out io.Writer) (err error) {
	var group sync.WaitGroup
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for _, w := range t.writers {
		group.Go(func() {
			if err := w.work(ctx, &t.enough); err != nil {
				stop(err)
			}
		})
	}
	fmt.Fprint(out, "| fault | for | requests acknowledged until all was well | all writers had answers after | and verdicts after |\n|---|---|---|---|---|\n")
	for i, end := 0, time.Now().Add(duration); err == nil && (i < len(t.faults) || time.Now().Before(end)); i++ {
		err = t.cause(ctx, t.faults[i%len(t.faults)], out)
	}
	if err != nil {
		stop(err)
	}
	t.enough.Store(true)
	group.Wait()
	return context.Cause(ctx)
}

// cause injects a fault, waits until all writers have answers and verdicts for requests after its end, and then two
// seconds more.
func (t *tested) cause(ctx context.Context, f fault, out io.Writer) error {
	before := t.acknowledged()
	if err := errors.Join(f.begin(), sleep(f.hold), f.end()); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	over := time.Now()
	await := func(sent func(*writer) *atomic.Int64) string {
		for ctx.Err() == nil && time.Since(over) < recoveryTime {
			if !slices.ContainsFunc(t.writers, func(w *writer) bool { return sent(w).Load() < over.UnixNano() }) {
				return fmt.Sprintf("%.1f s", time.Since(over).Seconds())
			}
			time.Sleep(10 * time.Millisecond)
		}
		return "more than " + recoveryTime.String()
	}
	answered, judged := await(func(w *writer) *atomic.Int64 { return &w.answered }), await(func(w *writer) *atomic.Int64 { return &w.judged })
	fmt.Fprintf(out, "| %s | %s | %d | %s | %s |\n", f.name, f.hold, t.acknowledged()-before, answered, judged)
	return errors.Join(ctx.Err(), sleep(2*time.Second))
}

func (t *tested) acknowledged() (n int64) {
	for _, w := range t.writers {
		n += w.acknowledged.Load()
	}
	return n
}

// awaitFacts compares all facts with those of the service until there are no findings or restTime is over.
func (t *tested) awaitFacts(ctx context.Context) (l *ledger, took time.Duration, err error) {
	for began := time.Now(); ; time.Sleep(2 * time.Second) {
		l, err = t.compare(ctx)
		took = time.Since(began)
		if err == nil && len(l.compare()) == 0 || took > restTime || ctx.Err() != nil {
			return l, took, err
		}
	}
}

// awaitLaterFacts prints the findings of a ledger, sets the clocks ahead of the times of all facts until the service has
// finished its work, and compares again. If a process was killed while clocks were ahead, what it left unfinished is
// finished only when the clocks reach the times of these facts: see docs/operations.md.
func (t *tested) awaitLaterFacts(ctx context.Context, l *ledger, out io.Writer) (*ledger, time.Duration, error) {
	fmt.Fprintf(out, "\nFindings after %s, before the clocks reached the times of all facts:\n", restTime)
	printFindings(out, l.compare())
	if err := t.setClocks(maxAhead + restTime); err != nil {
		return l, 0, err
	}
	l, took, err := t.awaitFacts(ctx)
	return l, took, errors.Join(err, t.setClocks(0))
}

// compare returns a ledger of all acknowledged facts, and those in the API, in notifications and in the log.
func (t *tested) compare(ctx context.Context) (*ledger, error) {
	c := collection{ledger: t.ledger.clone(), client: t.client}
	snapshots := t.logical
	for _, w := range t.writers {
		c.trails(ctx, w.name)
		snapshots += c.snapshots(ctx, w.name)
	}
	c.snapshots(ctx, logicalEnvironment)
	for index := range snapshots {
		c.want[fmt.Sprintf("snapshot %s:%d", logicalEnvironment, index+1)]++
	}
	t.keys = c.entries(ctx)
	t.receiver.mutex.Lock()
	defer t.receiver.mutex.Unlock()
	for name, deliveries := range t.receiver.delivered {
		c.got[name] = len(deliveries)
	}
	return c.ledger, c.err
}

// checkPackages adds the package of each writer's last release with one, if verify-package verifies it with the log.
func (t *tested) checkPackages(ctx context.Context, l *ledger) error {
	for _, w := range t.writers {
		release := (w.releases - 1) / releasesPerPackage * releasesPerPackage
		content, err := w.send(ctx, "", "", "", func(string) clienttest.Request {
			return clienttest.Request{Method: http.MethodGet, Path: w.packagePath(release)}
		})
		file := t.path(w.trail(release) + ".tgz")
		if err := errors.Join(err, os.WriteFile(file, content, 0o600)); err != nil {
			return err
		}
		verdict := verdicts[release%len(verdicts)]
		l.acknowledge("package %s", w.trail(release))
		output, err := exec.CommandContext(ctx, t.path("verify-package"), "--log-key", strings.Join(t.keys, "\n"),
			"--log", t.client.Address()+"/-/log/"+organization, "--token", t.path("token"), file).CombinedOutput()
		if err == nil && strings.Contains(string(output), "verdict  "+verdict+",") {
			l.got["package "+w.trail(release)]++
		} else {
			fmt.Fprintf(os.Stderr, "%s: %v\n%s", file, err, output)
		}
	}
	return nil
}
