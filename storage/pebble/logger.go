package pebble

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage/pebble/compaction"
)

// repeatAfter is how long a logged error is not logged again.
const repeatAfter = time.Hour

// logger receives what Pebble reports. It logs each error once an hour, as Pebble repeats what fails, and remembers
// damaged files.
type logger struct {
	health *health

	mu      sync.Mutex
	logged  map[string]time.Time
	damaged []string
}

// Infof discards messages that are no errors.
func (l *logger) Infof(string, ...any) {}

// Errorf logs an error.
func (l *logger) Errorf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.log(text, text)
}

// log logs a text unless one with the same key was logged within the hour.
func (l *logger) log(key, text string) {
	if l.isNew(key, time.Now()) {
		slog.Error("the Pebble database reports an error", "error", text, "folder", l.health.folder)
	}
}

// isNew reports whether a key was not seen within the hour, and remembers it.
func (l *logger) isNew(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for seen, at := range l.logged {
		if now.Sub(at) >= repeatAfter {
			delete(l.logged, seen)
		}
	}
	if _, ok := l.logged[key]; ok {
		return false
	}
	if l.logged == nil {
		l.logged = map[string]time.Time{}
	}
	l.logged[key] = now
	return true
}

// Fatalf is called when the state of the files is unknown. Pebble expects it to end the process. It returns instead,
// and from then on nothing is written.
func (l *logger) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	cause := fmt.Errorf(format, args...)
	// Pebble prints errors instead of wrapping them. The error itself says why the operating system refused the write.
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			cause = err
		}
	}
	l.health.fail(cause)
}

// corrupted logs damage once an hour for each file.
func (l *logger) corrupted(info pebble.DataCorruptionInfo) {
	name := filepath.Base(info.Path)
	l.log(name, fmt.Sprintf("%s is damaged: %v", name, info.Details))
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.damaged, name) {
		l.damaged = append(l.damaged, name)
	}
}

// damage names damaged files, "" if none is known.
func (l *logger) damage() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.damaged) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: damaged: %s; restore the database from a backup", l.health.folder, strings.Join(l.damaged, ", "))
}

// listener logs errors of flushes and compactions, and damage. Without the listener, Pebble would treat damage as
// fatal. A compaction that found damage postpones the next ones.
func (l *logger) listener(compactions *compaction.Scheduler) *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { l.Errorf("background error: %v", err) },
		DataCorruption:  l.corrupted,
		CompactionEnd: func(info pebble.CompactionInfo) {
			if info.Err != nil && isDamage(info.Err) {
				compactions.Postpone()
			}
		},
	}
}
