package recordingtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"attestry/storage"
	"attestry/storage/storagetest"
)

var (
	printA, printB, printC = strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)
	printD, childOfB       = strings.Repeat("d", 64), strings.Repeat("e", 64)
	commitA, commitB       = strings.Repeat("1", 40), strings.Repeat("2", 40)
)

// setup are the operations before the one that is interrupted. printA has two names, under one of which printB was
// reported later. printC is in another trail.
var setup = []operation{
	{Kind: "report", Trail: "other", Name: "api", Fingerprint: printC, At: 5},
	{Kind: "report", Trail: "trail", Name: "api", Fingerprint: printA, Commit: commitA, At: 10},
	{Kind: "report", Trail: "trail", Name: "api", Fingerprint: printB, Children: []string{childOfB}, Commit: commitB, At: 20},
	{Kind: "report", Trail: "trail", Name: "web", Fingerprint: printA, Commit: commitA, At: 30},
	{Kind: "attest", Trail: "trail", Attestation: "x", Type: "generic", At: 31},
	{Kind: "attest", Trail: "trail", Targets: []string{"api", "job"}, Commit: commitB, Attestation: "y", Type: "junit", At: 32},
	{Kind: "attest", Trail: "trail", Fingerprint: printA, Attestation: "x", Type: "junit", At: 33},
}

// interruptible are operations of all kinds that can be interrupted, or done in between.
var interruptible = map[string]operation{
	"begin":                     {Kind: "begin", Trail: "new", Description: "fresh", Template: 2},
	"begin again":               {Kind: "begin", Trail: "trail", Description: "changed"},
	"another template":          {Kind: "begin", Trail: "trail", Template: 3},
	"the same template":         {Kind: "begin", Trail: "trail", Description: "changed", Template: 2},
	"first artifact":            {Kind: "report", Trail: "new", Name: "api", Fingerprint: printA, Commit: commitA},
	"artifact under a new name": {Kind: "report", Trail: "trail", Name: "job", Fingerprint: printA, Commit: commitB},
	"artifact that replaces":    {Kind: "report", Trail: "trail", Name: "web", Fingerprint: printB, Commit: commitB},
	"artifact that comes back":  {Kind: "report", Trail: "trail", Name: "api", Fingerprint: printA, Commit: commitA},
	"artifact with a child":     {Kind: "report", Trail: "trail", Name: "web", Fingerprint: printB, Children: []string{printD}, Commit: commitB},
	"of the trail":              {Kind: "attest", Trail: "trail", Attestation: "x", Type: "generic", Compliant: true},
	"of a new trail":            {Kind: "attest", Trail: "new", Attestation: "x", Type: "generic", Compliant: true},
	"by fingerprint":            {Kind: "attest", Trail: "trail", Fingerprint: printA, Attestation: "y", Type: "snyk", Compliant: true},
	"by names": {Kind: "attest", Trail: "trail", Targets: []string{"api", "web", "job"}, Commit: commitA,
		Attestation: "y", Type: "snyk"},
	"decision by fingerprint": {Kind: "attest", Trail: "trail", Fingerprint: printB, Attestation: "z", Type: "system:decision", Control: "ctl"},
	"decision by name": {Kind: "attest", Trail: "trail", Targets: []string{"api"}, Commit: commitB, Attestation: "z",
		Type: "system:decision", Control: "ctl", Compliant: true},
	"decision about another trail's": {Kind: "attest", Trail: "trail", Fingerprint: printC, Attestation: "z",
		Type: "system:decision", Control: "ctl", Compliant: true},
	"artifact of another trail": {Kind: "report", Trail: "trail", Name: "job", Fingerprint: printC},
	"override of a missing attestation": {Kind: "override", Trail: "trail", Targets: []string{"api"}, Attestation: "x",
		Type: "junit", Compliant: true},
	"override": {Kind: "override", Trail: "trail", Attestation: "x", Type: "generic", Compliant: true},
	"override by fingerprint": {Kind: "override", Trail: "trail", Fingerprint: printA, Attestation: "x", Type: "junit",
		Compliant: true},
	"override by name": {Kind: "override", Trail: "trail", Targets: []string{"job"}, Commit: commitB, Attestation: "y",
		Type: "junit", Compliant: true},
}

// prepared makes a model, and does the operations of setup.
func prepared(t testing.TB, docs storage.Documents) *model {
	t.Helper()
	return preparedAt(t, docs, 0)
}

// preparedAt is prepared with a clock that is ahead by some seconds.
func preparedAt(t testing.TB, docs storage.Documents, ahead float64) *model {
	t.Helper()
	c := newModel(t, docs, 1)
	store := newStore(t, docs)
	for _, d := range setup {
		d.At += ahead
		if err := c.do(t.Context(), store, d); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// meeting are operations that change the same documents as those in interleaved.
var meeting = []string{
	"another template", "the same template", "artifact under a new name", "artifact that replaces", "artifact that comes back",
	"by fingerprint", "by names", "decision about another trail's", "artifact of another trail",
}

// interleaved are operations that are done between the commands of those in meeting.
var interleaved = []string{
	"another template", "artifact under a new name", "artifact that replaces", "by fingerprint", "artifact of another trail",
}

// testRecorderInterrupted interrupts each operation at each of its commands. The cases run in parallel, as they wait
// for the disk most of the time.
func testRecorderInterrupted(t *testing.T, engine storagetest.DocumentsEngine) {
	docs := openEngine(t, engine)
	cases := map[string]func(t *testing.T, at int) bool{}
	meeting, interleaved := meeting, interleaved
	for name, d := range interruptible {
		d.At = 40
		cases["Died/"+name] = func(t *testing.T, at int) bool { return died(t, docs, d, at, false) }
		if testing.Short() {
			continue
		}
		cases["DiedLate/"+name] = func(t *testing.T, at int) bool { return died(t, docs, d, at, true) }
		cases["DiedBehind/"+name] = func(t *testing.T, at int) bool { return diedBehind(t, docs, d, at) }
		cases["Cancelled/"+name] = func(t *testing.T, at int) bool { return cancelled(t, docs, d, at) }
	}
	if testing.Short() {
		meeting, interleaved = meeting[:3], interleaved[:2]
	}
	for _, first := range meeting {
		for _, second := range interleaved {
			cases[first+"/"+second] = func(t *testing.T, at int) bool { return between(t, docs, first, second, at) }
		}
	}
	queue := make(chan string, len(cases))
	for name := range cases {
		queue <- name
	}
	close(queue)
	var work sync.WaitGroup
	for range storagetest.Writers {
		work.Go(func() {
			for name := range queue {
				t.Run(name, func(t *testing.T) {
					for at := 1; cases[name](t, at) && !t.Failed(); at++ {
					}
				})
			}
		})
	}
	work.Wait()
}

// died lets a process die at a write of an operation, and then another process at a write while it finishes the
// operation. It reports whether the operation has so many writes.
func died(t *testing.T, docs storage.Documents, d operation, at int, late bool) bool {
	t.Helper()
	c := prepared(t, docs)
	process := storagetest.NewFaultInjector(docs, storagetest.DieAtWrite(at, late))
	err := c.do(t.Context(), newStore(t, process), d)
	if !process.Reached.Load() {
		if err != nil {
			t.Errorf("not interrupted: %v", err)
		}
		return false
	}
	if err == nil {
		t.Errorf("acknowledged without write %d", at)
	}
	successor := storagetest.NewFaultInjector(docs, storagetest.DieAtWrite(at, late))
	_ = c.finish(t.Context(), newStore(t, successor))
	c.finishAndRepeat(t, docs, d, fmt.Sprintf("dead at write %d, late %v", at, late))
	return true
}

// cancelled cancels the context of the request at a write. It reports whether the operation has so many writes.
func cancelled(t *testing.T, docs storage.Documents, d operation, at int) bool {
	t.Helper()
	c := prepared(t, docs)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	process := storagetest.NewFaultInjector(docs, storagetest.Fault{At: at, OnlyWrites: true, Before: cancel})
	err := c.do(ctx, newStore(t, process), d)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled at write %d: %v", at, err)
	}
	process.Wait()
	if process.Reached.Load() {
		c.finishAndRepeat(t, docs, d, fmt.Sprintf("cancelled at write %d", at))
	}
	return process.Reached.Load()
}

// finishAndRepeat finishes what was left behind, and compares it with the facts. Then the client repeats the operation.
func (c *model) finishAndRepeat(t *testing.T, docs storage.Documents, d operation, when string) {
	t.Helper()
	store := newStore(t, docs)
	if err := c.finish(t.Context(), store); err != nil {
		t.Errorf("%s: %v", when, err)
	}
	c.check(t)
	d.At++
	if err := c.do(t.Context(), store, d); err != nil {
		t.Errorf("%s, repeated: %v", when, err)
	}
	c.check(t)
	if t.Failed() {
		t.Log(when)
	}
}

// between lets another process do the second operation right before a command of the first. It reports whether the
// first has so many commands.
func between(t *testing.T, docs storage.Documents, first, second string, at int) bool {
	t.Helper()
	c := prepared(t, docs)
	one, other := interruptible[first], interruptible[second]
	one.At, other.At = 40, 41
	process := storagetest.NewFaultInjector(docs, storagetest.Fault{At: at, Before: func() {
		if err := c.do(t.Context(), newStore(t, docs), other); err != nil {
			t.Errorf("%s during %s: %v", second, first, err)
		}
	}})
	if err := c.do(t.Context(), newStore(t, process), one); err != nil {
		t.Errorf("%s with %s at command %d: %v", first, second, at, err)
	}
	if !process.Reached.Load() {
		return false
	}
	c.check(t)
	if t.Failed() {
		t.Logf("%s at command %d of %s", second, at, first)
	}
	return true
}
