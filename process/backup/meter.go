package backup

import (
	"context"
	"fmt"
	"io"
	"time"

	"attestry/storage"
)

// interval is the time between two lines about progress.
const interval = 10 * time.Second

// meter counts what is copied, and says now and then how fast.
type meter struct {
	out         Output
	what        string
	began, told time.Time
	count       int
	bytes       int64
}

func newMeter(out Output, what string) *meter {
	now := out.Clock()
	return &meter{out: out, what: what, began: now, told: now}
}

func (m *meter) tell(when string) {
	m.told = m.out.Clock()
	seconds := max(m.told.Sub(m.began).Seconds(), 0.001)
	fmt.Fprintf(m.out.Progress, "%s: %d copied%s, %.1f MB, %.1f MB/s\n", m.what, m.count, when, float64(m.bytes)/1e6, float64(m.bytes)/1e6/seconds)
}

// Write counts bytes that were copied.
func (m *meter) Write(p []byte) (int, error) {
	m.bytes += int64(len(p))
	if m.out.Clock().Sub(m.told) >= interval {
		m.tell(" so far")
	}
	return len(p), nil
}

func (m *meter) end() { m.tell("") }

// into is an object store for which the meter counts what is put into it.
func (m *meter) into(objects storage.Objects) storage.Objects { return metered{objects, m} }

type metered struct {
	storage.Objects
	meter *meter
}

func (o metered) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	object, err := o.Objects.Put(ctx, scope, io.TeeReader(r, o.meter), size)
	if err == nil {
		o.meter.count++
	}
	return object, err
}
