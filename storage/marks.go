package storage

import (
	"context"
	"errors"
	"slices"
	"time"

	"attestry/evidence"
)

var markSchema = &Schema{Name: "marks"}

// RecordingSchemas declares the collections of this package.
func RecordingSchemas() []*Schema { return []*Schema{markSchema} }

// mark is how far the facts of an organization are known to be reflected.
type mark struct {
	Org string `json:"org"`
	// Times are the times of the newest fact that each of the last markHistory passes of
	// the reconciler has seen, oldest pass first, in Unix seconds. They never decrease.
	Times []float64 `json:"times"`
	// Time is set instead of Times in marks of an earlier version: every fact up to
	// timeOverlap before it is reflected, in Unix seconds.
	Time float64 `json:"time,omitempty"`
}

const (
	// markHistory is how many passes a fact may take to be stored after its time was
	// chosen. A pass takes place every half minute; markAge and a request are together
	// much shorter than four of them.
	markHistory = 4
	// timeOverlap is how far behind Time the earlier version looked again, in seconds.
	timeOverlap = 30
	// markAge is for how long a process relies on a mark that it has read.
	markAge = 10 * time.Second
	// markCacheSize is of how many organizations a process remembers the mark.
	markCacheSize = 10_000
)

// newest is the time of the newest fact that any pass has seen.
func (m *mark) newest() float64 {
	if len(m.Times) == 0 {
		return 0
	}
	return m.Times[len(m.Times)-1]
}

// start is where the next pass begins: every fact whose time was chosen since the
// oldest of the last passes is later.
func (m *mark) start() float64 {
	if len(m.Times) < markHistory {
		return 0
	}
	return m.Times[0]
}

// advance notes a pass, and tells whether that changes the mark.
func (m *mark) advance(newest float64) bool {
	newest = max(newest, m.newest())
	if m.start() == newest {
		return false
	}
	m.Times = append(m.Times, newest)
	m.Times = m.Times[max(0, len(m.Times)-markHistory):]
	return true
}

// marks keeps the marks of organizations. Recorders give every fact a later time than
// the newest mark they know, so that the reconciler finds the facts of a process whose
// clock is behind, too.
type marks struct {
	collection *Collection[mark]
	clock      evidence.Clock
	known      *cache[float64]
}

func newMarks(docs Documents, clock evidence.Clock) *marks {
	return &marks{
		clock: clock, known: newCache[float64](markAge, markCacheSize),
		collection: NewCollection(docs, markSchema, func(m *mark) string { return m.Org }, nil),
	}
}

// get returns the mark of an organization, with Times empty when there is none.
func (m *marks) get(ctx context.Context, org string) (mark, error) {
	found, err := m.collection.Get(ctx, org)
	if errors.Is(err, ErrNotFound) {
		return mark{Org: org}, nil
	}
	if len(found.Times) == 0 && found.Time > 0 {
		found.Times = slices.Repeat([]float64{found.Time - timeOverlap}, markHistory)
	}
	found.Time = 0
	return found, err
}

// newest returns the time of the newest fact of an organization that the reconciler had
// seen at most markAge ago.
func (m *marks) newest(ctx context.Context, org string) (float64, error) {
	now := m.clock()
	newest, version, ok := m.known.get(org, now)
	if ok {
		return newest, nil
	}
	found, err := m.get(ctx, org)
	if err != nil {
		return 0, err
	}
	m.known.put(org, found.newest(), now, version)
	return found.newest(), nil
}
