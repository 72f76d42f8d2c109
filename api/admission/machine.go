package admission

import (
	"cmp"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// MinTotal is the smallest budget that is of use, in bytes.
	MinTotal = 16 << 20
	// unknownMachineMemory is the memory of a machine that does not tell, in bytes.
	unknownMachineMemory = 1 << 30
)

// DefaultTotal is a quarter of the memory that the process may use, in bytes: of the
// limit of its cgroup or else of the machine's memory. As much again may be garbage that
// has not been collected yet; the other half is for everything else.
func DefaultTotal() int64 {
	return quarter(memlimit.FromCgroup, memlimit.FromSystem)
}

// quarter returns a quarter of the least of the limits that are told.
func quarter(limits ...memlimit.Provider) int64 {
	var least uint64
	for _, limit := range limits {
		if bytes, err := limit(); err == nil && bytes > 0 {
			least = min(cmp.Or(least, bytes), bytes)
		}
	}
	return max(int64(cmp.Or(least, unknownMachineMemory)/4), MinTotal)
}
