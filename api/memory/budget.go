// Package memory bounds the memory that the bodies and answers of all requests under
// way take up together. What would exceed it is refused at once, never queued: a queue of
// large requests would take up memory itself, and keep the small ones waiting.
package memory

import (
	"cmp"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// Free is what a request may take up without being counted, in bytes. So the requests
	// that are made most, and those that ask how the service is, are never refused.
	Free = 256 << 10
	// Small is how much a request may take up, in bytes, to count as a small one. Small
	// ones alone may use the last eighth of a budget.
	Small = 1 << 20
	// retryAfter is when a client that was refused should come back. By then most requests
	// that were under way have been answered.
	retryAfter = 5 * time.Second
	// exhausted is the message to such a client.
	exhausted = "The service is short of memory, please try again."
)

// Budget is shared by all requests of a process. All methods are safe for concurrent use.
type Budget struct {
	total int64

	mu      sync.Mutex
	inUse   int64
	refused int64
}

// NewBudget makes a budget of so many bytes.
func NewBudget(total int64) *Budget { return &Budget{total: total} }

// Total is the size of the budget in bytes.
func (b *Budget) Total() int64 { return b.total }

// InUse is how much of the budget is reserved, in bytes.
func (b *Budget) InUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inUse
}

// Refused is how often a reservation was refused.
func (b *Budget) Refused() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// chargeable is what of a size is counted.
func chargeable(size int64) int64 {
	if size <= Free {
		return 0
	}
	return size
}

const (
	// MinTotal is the smallest budget that is of use, in bytes.
	MinTotal = 16 << 20
	// unknownMachineMemory is assumed if no limit can be read, in bytes.
	unknownMachineMemory = 1 << 30
)

// DefaultTotal is a quarter of the memory that the process may use, in bytes: of the
// limit of its cgroup or else of the machine's memory. As much again may be garbage that
// has not been collected yet; the other half is for everything else.
func DefaultTotal() int64 { return quarter(Limit()) }

func quarter(limit int64) int64 { return max(limit/4, MinTotal) }

// Limit is the memory that the process may use, in bytes.
func Limit() int64 { return leastOf(memlimit.FromCgroup, memlimit.FromSystem) }

// leastOf returns the least of the limits that can be read.
func leastOf(limits ...memlimit.Provider) int64 {
	var least uint64
	for _, limit := range limits {
		if bytes, err := limit(); err == nil && bytes > 0 {
			least = min(cmp.Or(least, bytes), bytes)
		}
	}
	return int64(cmp.Or(least, unknownMachineMemory))
}
