package config

import (
	"errors"
	"math"

	"github.com/dustin/go-humanize"
)

// minBudget is the smallest budget of memory that is of use, in bytes.
const minBudget = 16 << 20

// MemoryBudget is an amount of memory in bytes, 0 for the default of the machine.
type MemoryBudget int64

// UnmarshalText reads a number of bytes with or without a unit, such as 512MiB.
func (b *MemoryBudget) UnmarshalText(text []byte) error {
	bytes, err := humanize.ParseBytes(string(text))
	if err != nil || bytes < minBudget || bytes > math.MaxInt64 {
		return errors.New("is not an amount of memory such as 512MiB, at least 16MiB")
	}
	*b = MemoryBudget(bytes)
	return nil
}
