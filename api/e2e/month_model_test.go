package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The types of this file compute what the service must answer after the reports of a month, by docs/semantics.md 10, 11
// and 12. They share no code with the service.

// builtImage is an image and what its pipeline reported.
type builtImage struct {
	service     string
	version     int
	fingerprint string
	commit      string
	committedAt float64
	// flows are the flows to which it has been reported so far.
	flows []string
}

func (b *builtImage) name() string {
	return fmt.Sprintf("registry.example.com/%s:1.%d", b.service, b.version)
}

func (b *builtImage) trail() string { return fmt.Sprintf("%s-1.%d", b.service, b.version) }

func (b *builtImage) repo() string { return "https://github.com/acme/" + b.service }

// imageChange is the change of an image in a snapshot.
type imageChange struct {
	kind     string
	was, now int
}

func (c imageChange) description() string {
	instances := func(n int) string {
		if n == 1 {
			return "1 instance"
		}
		return fmt.Sprintf("%d instances", n)
	}
	switch {
	case strings.HasPrefix(c.kind, "started"):
		return fmt.Sprintf("%s started running (from 0 to %d)", instances(c.now), c.now)
	case c.kind == "exited":
		return fmt.Sprintf("%s stopped running (from %d to 0)", instances(c.was), c.was)
	default:
		return instances(c.now) + " changed"
	}
}

// wantSnapshot is a snapshot of a physical environment as the service must show it.
type wantSnapshot struct {
	environment *wantEnvironment
	number      int
	timestamp   float64
	counts      map[string]int         // instances by fingerprint
	flows       map[string][]string    // flows by fingerprint, as known at that time
	changes     map[string]imageChange // of everything shown, by fingerprint
	previous    map[string]string      // fingerprint of the predecessor, by fingerprint
}

// candidate is an image of a service that may be the predecessor of a later one.
type candidate struct {
	fingerprint string
	since       int // the number of the snapshot with which it began to run
}

// wantEnvironment is a physical environment as the service must show it.
type wantEnvironment struct {
	name, kind string
	snapshots  []*wantSnapshot
	firstAt    map[string]float64
	// since is the number of the snapshot with which each fingerprint began to run last.
	since map[string]int
	// candidates are the images that have run, by service, in the order in which they started.
	candidates map[string][]candidate
	// previous is the fingerprint of the predecessor of each running image, by fingerprint.
	previous map[string]string
}

func (e *wantEnvironment) latest() *wantSnapshot {
	if len(e.snapshots) == 0 {
		return &wantSnapshot{environment: e}
	}
	return e.snapshots[len(e.snapshots)-1]
}

// report applies a report of the running images and returns whether it makes a snapshot.
func (e *wantEnvironment) report(counts map[string]int, images map[string]*builtImage, at float64) bool {
	last := e.latest()
	next := &wantSnapshot{
		environment: e, number: last.number + 1, timestamp: at, counts: maps.Clone(counts),
		flows: map[string][]string{}, changes: map[string]imageChange{}, previous: map[string]string{},
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
		next.changes[fingerprint] = imageChange{kind: kind, was: was, now: now}
	}
	for fingerprint, was := range last.counts {
		if _, runs := counts[fingerprint]; !runs {
			significant = true
			next.changes[fingerprint] = imageChange{kind: "exited", was: was}
			next.flows[fingerprint] = last.flows[fingerprint]
		}
	}
	if !significant {
		return false
	}
	e.setPredecessors(next, images)
	e.snapshots = append(e.snapshots, next)
	return true
}

// setPredecessors finds the predecessors of images that start or that got their first flow.
func (e *wantEnvironment) setPredecessors(next *wantSnapshot, images map[string]*builtImage) {
	begun := map[string][]candidate{}
	for fingerprint, m := range next.changes {
		service := images[fingerprint].service
		started := m.kind == "started-unknown"
		if started {
			e.since[fingerprint] = next.number
			delete(e.previous, fingerprint)
			if _, ever := e.firstAt[fingerprint]; !ever {
				e.firstAt[fingerprint] = next.timestamp
			}
		}
		gotFlow := m.kind == "updated-provenance" && len(e.latest().flows[fingerprint]) == 0
		if len(next.flows[fingerprint]) > 0 && (started || gotFlow) {
			own := candidate{fingerprint: fingerprint, since: e.since[fingerprint]}
			if former := own.predecessor(e.candidates[service]); former != "" {
				e.previous[fingerprint] = former
			}
			begun[service] = append(begun[service], own)
		}
		if former := e.previous[fingerprint]; former != "" {
			next.previous[fingerprint] = former
		}
	}
	for service, candidates := range begun {
		e.candidates[service] = append(e.candidates[service], candidates...)
	}
}

// predecessor returns the fingerprint of the last other candidate that started earlier, "" for none.
func (c candidate) predecessor(candidates []candidate) string {
	var last candidate
	for _, other := range candidates {
		if other.fingerprint != c.fingerprint && other.since < c.since && other.since >= last.since {
			last = other
		}
	}
	return last.fingerprint
}

// wantEvent is an event as the service must show it.
type wantEvent struct {
	environment *wantEnvironment
	snapshot    *wantSnapshot
	fingerprint string
	imageChange
}

// events returns the events of a snapshot in no particular order.
func (s *wantSnapshot) events() []wantEvent {
	var events []wantEvent
	for fingerprint, m := range s.changes {
		if m.kind != "unchanged" {
			events = append(events, wantEvent{environment: s.environment, snapshot: s, fingerprint: fingerprint, imageChange: m})
		}
	}
	return events
}

// difference is the expected diff of two snapshots: fingerprints, and the numbers of instances where they differ.
type difference struct {
	onlyFirst, onlySecond, alike []string
	scaled                       map[string][2]int
}

func differenceOf(first, second *wantSnapshot) difference {
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
