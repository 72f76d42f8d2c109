package measure

import (
	"runtime/metrics"
	"time"
)

// memoryInterval is how often the memory in use is looked at.
const memoryInterval = 25 * time.Millisecond

// memory is how much heap and stacks the program uses.
type memory struct {
	before, most uint64 // bytes
	stop, ended  chan struct{}
	// samples are HeapInuse and StackInuse of runtime.MemStats, read without stopping the program.
	samples []metrics.Sample
}

// watchMemory looks at the memory in use again and again until end is called.
func watchMemory() *memory {
	m := &memory{stop: make(chan struct{}), ended: make(chan struct{}), samples: []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
	}}
	m.before = m.inUse()
	m.most = m.before
	go m.watch()
	return m
}

func (m *memory) watch() {
	defer close(m.ended)
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	for {
		m.most = max(m.most, m.inUse())
		select {
		case <-m.stop:
			return
		case <-ticker.C:
		}
	}
}

func (m *memory) inUse() uint64 {
	metrics.Read(m.samples)
	var sum uint64
	for _, sample := range m.samples {
		sum += sample.Value.Uint64()
	}
	return sum
}

// end returns the most that was used beyond what was used at the beginning, in bytes.
func (m *memory) end() uint64 {
	close(m.stop)
	<-m.ended
	return m.most - m.before
}
