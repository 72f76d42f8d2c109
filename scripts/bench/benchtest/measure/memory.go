package measure

import (
	"context"
	"runtime/metrics"
	"time"

	"attestry/goroutine"
)

// memoryInterval is how often the memory in use is measured.
const memoryInterval = 25 * time.Millisecond

// memory measures the heap and stacks that the program uses.
type memory struct {
	before, most uint64 // bytes
	stop         func()
	// samples are HeapInuse and StackInuse of runtime.MemStats, read without stopping the program.
	samples []metrics.Sample
}

// watchMemory measures the memory in use periodically, until end is called.
func watchMemory() *memory {
	m := &memory{samples: []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
	}}
	m.before = m.inUse()
	m.most = m.before
	_, m.stop = goroutine.Every(context.Background(), memoryInterval, func(context.Context) error {
		m.most = max(m.most, m.inUse())
		return nil
	})
	return m
}

func (m *memory) inUse() uint64 {
	metrics.Read(m.samples)
	var sum uint64
	for _, sample := range m.samples {
		sum += sample.Value.Uint64()
	}
	return sum
}

// end returns the maximum use beyond that at the beginning, in bytes.
func (m *memory) end() uint64 {
	m.stop()
	return m.most - m.before
}
