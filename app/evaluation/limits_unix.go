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

// limitData has the operating system refuse what would make the process grow by more
// than some bytes. Only Linux can do so.
func limitData(growth uint64) error {
	size, err := dataSize()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the size of the process: %w", err)
	}
	limit := size + growth
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	return nil
}

// dataSize is how much private memory the process has mapped, in bytes.
func dataSize() (uint64, error) {
	content, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(content))
	if len(fields) < 6 {
		return 0, fmt.Errorf("unexpected content: %q", content)
	}
	pages, err := strconv.ParseUint(fields[5], 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// cpuTime is what the process has used so far.
func cpuTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
