package tenancy

import (
	"context"
	"sync"
	"time"

	"attestry/evidence"
	"attestry/storage"
)

// versionAge is how long a process uses its caches without looking whether another one has changed something.
const versionAge = 500 * time.Millisecond

const versionID = "tenancy"

var versionSchema = &storage.Schema{Name: "tenancy_version"}

// version gets a fresh random value whenever a key is declared or revoked, or a role, an account or an identity
// provider is changed or removed.
type version struct {
	ID    string `json:"id"`
	Value string `json:"value"`
}

func newVersion() version { return version{ID: versionID, Value: evidence.NewID()} }

type versionWatch struct {
	collection storage.Collection[version]

	mu      sync.Mutex
	checked time.Time
	value   string
}

func newVersionWatch(docs storage.Documents) *versionWatch {
	return &versionWatch{collection: storage.NewCollection(docs, versionSchema, func(v *version) string { return v.ID }, nil)}
}

// fresh reports whether the version was read within versionAge.
func (w *versionWatch) fresh(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	// An age below zero means that the clock was set back.
	age := now.Sub(w.checked)
	return age >= 0 && age < versionAge
}

// look reads the version unless it is fresh, and calls forget if it has changed.
func (w *versionWatch) look(ctx context.Context, now time.Time, forget func()) error {
	if w.fresh(now) {
		return nil
	}
	// Several requests may read it at once; none waits for another's reading.
	read, err := storage.GetOrZero(ctx, w.collection, versionID)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if read.Value.Value != w.value {
		forget()
	}
	w.value, w.checked = read.Value.Value, now
	return nil
}
