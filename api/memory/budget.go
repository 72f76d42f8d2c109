// Package memory bounds the total memory of the bodies and answers of all requests in flight. A request that would
// exceed it is refused at once, not queued: a queue of large requests would take up memory and delay the small ones.
package memory

import (
	"cmp"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// Free is the size up to which a request is not counted, in bytes, so that the most frequent requests and health
	// checks are never refused.
	Free = 256 << 10
	// Small is the maximum size of a small request, in bytes. Only small requests may use the last eighth of a budget.
	Small = 1 << 20
	// retryAfter is the Retry-After of refused requests. By then most requests in flight have been answered.
	retryAfter = 5 * time.Second
	exhausted  = "The service is short of memory, please try again."
)

// Budget is the memory shared by all requests of a process. Its methods are safe for concurrent use.
type Budget struct {
	total int64

	mu      sync.Mutex
	inUse   int64
	refused int64
}

// NewBudget makes a budget of total bytes.
func NewBudget(total int64) *Budget { return &Budget{total: total} }

// Total is the size of the budget in bytes.
func (b *Budget) Total() int64 { return b.total }

// InUse is how much of the budget is reserved, in bytes.
func (b *Budget) InUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inUse
}

// Refused is the number of refused reservations.
func (b *Budget) Refused() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

func chargeable(size int64) int64 {
	if size <= Free {
		return 0
	}
	return size
}

const (
	// MinTotal is the minimum of DefaultTotal, in bytes.
	MinTotal = 16 << 20
	// unknownMachineMemory is the limit if none can be read, in bytes.
	unknownMachineMemory = 1 << 30
)

// DefaultTotal is a quarter of Limit, in bytes. Another quarter may be garbage that is not yet collected. The other
// half is for everything else.
func DefaultTotal() int64 { return quarter(Limit()) }

func quarter(limit int64) int64 { return max(limit/4, MinTotal) }

// Limit is the memory that the process may use, in bytes: the lesser of its cgroup's limit and the machine's memory.
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
