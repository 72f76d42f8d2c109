package recording

import (
	"context"
	"time"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/cache"
)

var highWaterMarkSchema = &storage.Schema{Name: "marks"}

// Schemas declares the collections of this package.
func Schemas() []*storage.Schema { return []*storage.Schema{highWaterMarkSchema} }

// highWaterMark says up to which time the aggregates of an organization reflect all facts: see start.
type highWaterMark struct {
	Org string `json:"org"`
	// Times are those of the newest facts of the reconciler's last passes, in Unix seconds. They never decrease.
	Times []float64 `json:"times"`
}

const (
	// markHistory is how many passes of the reconciler a mark keeps, one every half minute. A fact must be stored
	// within this time after its own time was chosen. highWaterMarkAge and a request together are much shorter.
	markHistory = 4
	// highWaterMarkAge is how long a process caches a mark.
	highWaterMarkAge = 10 * time.Second
	// highWaterMarkCacheSize is how many organizations' marks a process caches.
	highWaterMarkCacheSize = 10_000
)

// newest is the time of the newest fact that any pass has read.
func (m *highWaterMark) newest() float64 {
	if len(m.Times) == 0 {
		return 0
	}
	return m.Times[len(m.Times)-1]
}

// start is where the next pass begins. Facts whose times were chosen since the oldest kept pass are later.
func (m *highWaterMark) start() float64 {
	if len(m.Times) < markHistory {
		return 0
	}
	return m.Times[0]
}

// advance adds a pass, and reports whether that changes the mark.
func (m *highWaterMark) advance(newest float64) bool {
	newest = max(newest, m.newest())
	if m.start() == newest {
		return false
	}
	m.Times = append(m.Times, newest)
	m.Times = m.Times[max(0, len(m.Times)-markHistory):]
	return true
}

// highWaterMarks keeps the marks of organizations. Recorders give every fact a later time than the newest mark that
// they have read. So the reconciler finds the facts of a process whose clock is slow, too.
type highWaterMarks struct {
	collection storage.Collection[highWaterMark]
	clock      evidence.Clock
	known      cache.TTL[float64]
}

func newHighWaterMarks(docs storage.Documents, clock evidence.Clock) *highWaterMarks {
	return &highWaterMarks{
		clock: clock, known: cache.NewTTL[float64](highWaterMarkAge, highWaterMarkCacheSize),
		collection: storage.NewCollection(docs, highWaterMarkSchema, func(m *highWaterMark) string { return m.Org }, nil),
	}
}

// get returns the mark of an organization, with Times empty when there is none.
func (m *highWaterMarks) get(ctx context.Context, org string) (highWaterMark, error) {
	found, err := m.collection.Get(ctx, org)
	found.Org = org
	return found, storage.IgnoreMissing(err)
}

// newest returns the time of an organization's newest fact by the mark of at most highWaterMarkAge ago.
func (m *highWaterMarks) newest(ctx context.Context, org string) (float64, error) {
	return m.known.Load(org, m.clock(), func() (float64, error) {
		found, err := m.get(ctx, org)
		return found.newest(), err
	})
}
