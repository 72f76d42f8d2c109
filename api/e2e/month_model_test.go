package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What follows says what a month of reports comes to by
// docs/semantics.md 10, 11 and 12. It shares no code with the service.

// built is an image with what its pipeline told of it.
type built struct {
	service     string
	version     int
	fingerprint string
	commit      string
	committedAt float64
	// known tells that the pipeline has reported it by now, to these flows.
	flows []string
}

func (b *built) name() string {
	return fmt.Sprintf("registry.example.com/%s:1.%d", b.service, b.version)
}
func (b *built) trail() string { return fmt.Sprintf("%s-1.%d", b.service, b.version) }
func (b *built) repo() string  { return "https://github.com/acme/" + b.service }

// mark is what happened to an image with a snapshot.
type mark struct {
	kind     string
	was, now int
}

func (m mark) sentence() string {
	instances := func(n int) string {
		if n == 1 {
			return "1 instance"
		}
		return fmt.Sprintf("%d instances", n)
	}
	switch {
	case strings.HasPrefix(m.kind, "started"):
		return fmt.Sprintf("%s started running (from 0 to %d)", instances(m.now), m.now)
	case m.kind == "exited":
		return fmt.Sprintf("%s stopped running (from %d to 0)", instances(m.was), m.was)
	default:
		return instances(m.now) + " changed"
	}
}

// pastSnapshot is a snapshot as it must be.
type pastSnapshot struct {
	environment *pastEnvironment
	number      int
	timestamp   float64
	counts      map[string]int      // instances by fingerprint
	flows       map[string][]string // flows by fingerprint, as they were known
	marks       map[string]mark     // of everything shown, by fingerprint
	previous    map[string]string   // fingerprint of the predecessor, by fingerprint
}

// heir is something that ran of a service.
type heir struct {
	fingerprint string
	since       int
}

// pastEnvironment is an environment as it must be.
type pastEnvironment struct {
	name, kind string
	snapshots  []*pastSnapshot
	firstAt    map[string]float64
	// since is the number of the snapshot with which each fingerprint began to run last.
	since map[string]int
	// heirs are what ran of each service, by the numbers with which it began.
	heirs map[string][]heir
	// previous is the predecessor of what runs.
	previous map[string]string
}

func (e *pastEnvironment) latest() *pastSnapshot {
	if len(e.snapshots) == 0 {
		return &pastSnapshot{environment: e}
	}
	return e.snapshots[len(e.snapshots)-1]
}

// report takes in what runs and tells whether that makes a snapshot.
func (e *pastEnvironment) report(counts map[string]int, images map[string]*built, at float64) bool {
	last := e.latest()
	next := &pastSnapshot{
		environment: e, number: last.number + 1, timestamp: at, counts: maps.Clone(counts),
		flows: map[string][]string{}, marks: map[string]mark{}, previous: map[string]string{},
	}
	significant := last.number == 0
	for fingerprint, now := range counts {
		image := images[fingerprint]
		next.flows[fingerprint] = slices.Clone(image.flows)
		was, ran := last.counts[fingerprint]
		kind := "unchanged"
		switch {
		case !ran:
			kind = "started-unknown"
		case !slices.Equal(last.flows[fingerprint], image.flows):
			kind = "updated-provenance"
		}
		significant = significant || kind != "unchanged"
		next.marks[fingerprint] = mark{kind: kind, was: was, now: now}
	}
	for fingerprint, was := range last.counts {
		if _, runs := counts[fingerprint]; !runs {
			significant = true
			next.marks[fingerprint] = mark{kind: "exited", was: was}
			next.flows[fingerprint] = last.flows[fingerprint]
		}
	}
	if !significant {
		return false
	}
	e.follow(next, images)
	e.snapshots = append(e.snapshots, next)
	return true
}

// follow finds who comes after whom.
func (e *pastEnvironment) follow(next *pastSnapshot, images map[string]*built) {
	begun := map[string][]heir{}
	for fingerprint, m := range next.marks {
		service := images[fingerprint].service
		started := m.kind == "started-unknown"
		if started {
			e.since[fingerprint] = next.number
			delete(e.previous, fingerprint)
			if _, ever := e.firstAt[fingerprint]; !ever {
				e.firstAt[fingerprint] = next.timestamp
			}
		}
		learned := m.kind == "updated-provenance" && len(e.latest().flows[fingerprint]) == 0
		if len(next.flows[fingerprint]) > 0 && (started || learned) {
			own := heir{fingerprint: fingerprint, since: e.since[fingerprint]}
			if former := own.predecessor(e.heirs[service]); former != "" {
				e.previous[fingerprint] = former
			}
			begun[service] = append(begun[service], own)
		}
		if former := e.previous[fingerprint]; former != "" {
			next.previous[fingerprint] = former
		}
	}
	for service, heirs := range begun {
		e.heirs[service] = append(e.heirs[service], heirs...)
	}
}

// predecessor is the last other one that began before.
func (h heir) predecessor(heirs []heir) string {
	var last heir
	for _, other := range heirs {
		if other.fingerprint != h.fingerprint && other.since < h.since && other.since >= last.since {
			last = other
		}
	}
	return last.fingerprint
}

// pastEvent is an entry of the log as it must be.
type pastEvent struct {
	environment *pastEnvironment
	snapshot    *pastSnapshot
	fingerprint string
	mark
}

// events are those of a snapshot, in no certain order.
func (s *pastSnapshot) events() []pastEvent {
	var events []pastEvent
	for fingerprint, m := range s.marks {
		if m.kind != "unchanged" {
			events = append(events, pastEvent{environment: s.environment, snapshot: s, fingerprint: fingerprint, mark: m})
		}
	}
	return events
}

// difference is what a diff of two snapshots must be: fingerprints, and instances of
// those that run in both.
type difference struct {
	onlyFirst, onlySecond, alike []string
	scaled                       map[string][2]int
}

func between(first, second *pastSnapshot) difference {
	d := difference{scaled: map[string][2]int{}}
	for fingerprint, n := range first.counts {
		m, both := second.counts[fingerprint]
		switch {
		case !both:
			d.onlyFirst = append(d.onlyFirst, fingerprint)
		case n == m:
			d.alike = append(d.alike, fingerprint)
		default:
			d.scaled[fingerprint] = [2]int{n, m}
		}
	}
	for fingerprint := range second.counts {
		if _, both := first.counts[fingerprint]; !both {
			d.onlySecond = append(d.onlySecond, fingerprint)
		}
	}
	for _, list := range [][]string{d.onlyFirst, d.onlySecond, d.alike} {
		slices.Sort(list)
	}
	return d
}
