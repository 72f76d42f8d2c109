package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// ledger counts facts by their names, which begin with the kind and contain the verdict.
type ledger struct {
	mutex sync.Mutex
	// want counts the facts that were acknowledged or follow from others that the service has, got those that it has.
	want, got map[string]int
	// maybe are facts that were sent but not acknowledged. The service may have each of them once.
	maybe map[string]bool
}

func newLedger() *ledger {
	return &ledger{want: map[string]int{}, got: map[string]int{}, maybe: map[string]bool{}}
}

func (l *ledger) acknowledge(format string, args ...any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.want[fmt.Sprintf(format, args...)]++
}

func (l *ledger) send(name string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.maybe[name] = true
}

// clone returns a copy without the facts that the service has.
func (l *ledger) clone() *ledger {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return &ledger{want: maps.Clone(l.want), got: map[string]int{}, maybe: maps.Clone(l.maybe)}
}

// The faults of facts. A fact with a wrong number or verdict counts twice: the right one is lost, this one unexpected.
const (
	lost       = "lost"
	twice      = "twice"
	unexpected = "unexpected"
)

// finding is a fact with a fault.
type finding struct{ fault, name string }

// compare finds the facts that the service does not have as often as it must.
func (l *ledger) compare() (findings []finding) {
	names := maps.Clone(l.want)
	maps.Copy(names, l.got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		want, got := l.want[name], l.got[name]
		if want == 0 && got > 0 && l.maybe[name] {
			want = 1
		}
		switch {
		case got < want:
			findings = append(findings, finding{lost, name})
		case want == 0:
			findings = append(findings, finding{unexpected, name})
		case got > want:
			findings = append(findings, finding{twice, name})
		}
	}
	return findings
}

// kindOf is the first word of the name of a fact.
func kindOf(name string) string {
	kind, _, _ := strings.Cut(name, " ")
	return kind
}
