package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// ledger counts facts by their names, which begin with their kind and contain what was judged of them.
type ledger struct {
	mutex sync.Mutex
	// want are those that must be there, as they were acknowledged or follow from others that are there, and got those that are.
	want, got map[string]int
	// maybe were sent, but not acknowledged: each may be there once.
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

// clone returns a ledger of the same facts, of which none is there.
func (l *ledger) clone() *ledger {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return &ledger{want: maps.Clone(l.want), got: map[string]int{}, maybe: maps.Clone(l.maybe)}
}

// What can be wrong with a fact. One with another number or verdict than it must have is lost, and the other unexpected.
const (
	lost       = "lost"
	twice      = "twice"
	unexpected = "unexpected"
)

// finding is a fact with which something is wrong.
type finding struct{ fault, name string }

// compare finds what is not there as often as it must be.
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
