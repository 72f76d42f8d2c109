package pebble

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// logger receives what Pebble reports. It logs errors, each once in a row, as Pebble
// repeats what fails.
type logger struct {
	health *health

	mu   sync.Mutex
	last string
}

// Infof drops what is no error.
func (l *logger) Infof(string, ...any) {}

// Errorf logs an error.
func (l *logger) Errorf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if text != l.last {
		slog.Error("the Pebble database reports an error", "error", text, "folder", l.health.folder)
	}
	l.last = text
}

// Fatalf is called when the state of the files is unknown. Pebble expects that the process
// ends. It returns instead, and from then on nothing is written.
func (l *logger) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	cause := fmt.Errorf(format, args...)
	// Pebble prints errors instead of wrapping them. The error itself has the reason for
	// which the operating system refused the write.
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			cause = err
		}
	}
	l.health.fail(cause)
}

// listener logs errors of flushes and compactions, and damage. Without it Pebble takes
// damage for fatal.
func (l *logger) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { l.Errorf("background error: %v", err) },
		DataCorruption:  func(info pebble.DataCorruptionInfo) { l.Errorf("%v", info) },
	}
}
