//go:build unix

package evaluation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// limitMemory limits the growth of the process's address space, in bytes; only on Linux. RLIMIT_DATA would not suffice:
// the runtime reserves addresses before it uses them, and that limit does not cover mappings within a reservation.
func limitMemory(growth uint64) error {
	size, err := addressSpace()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the size of the process: %w", err)
	}
	limit := size + growth
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	return nil
}

// addressSpace returns how much the process has mapped or reserved, in bytes.
func addressSpace() (uint64, error) {
	content, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	total, _, _ := strings.Cut(string(content), " ")
	pages, err := strconv.ParseUint(total, 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

func cpuTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
