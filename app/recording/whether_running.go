package recording

import (
	"context"

	"attestry/storage/cache"
	"attestry/storage/environments"
)

// maxKnownRunning is of how many fingerprints a process remembers whether they run.
const maxKnownRunning = 20_000

// whetherRunning tells whether fingerprints run anywhere in an organization. It remembers the
// answers, each as of a version of what runs: whoever writes something that relies on one has
// that version checked.
type whetherRunning struct {
	set   *environments.RunningSet
	known *cache.LRU[runningState]
}

type runningState struct {
	runs    bool
	version int64
}

func newWhetherRunning(set *environments.RunningSet) *whetherRunning {
	return &whetherRunning{set: set, known: cache.NewLRU[runningState](maxKnownRunning)}
}

// any reports whether one of the fingerprints runs, or is about to, and as of which version of
// what runs. With anew, what is remembered does not count.
func (w *whetherRunning) any(ctx context.Context, org string, fingerprints []string, anew bool) (runs bool, version int64, err error) {
	if state, ok := w.remembered(org, fingerprints); ok && !anew {
		return state.runs, state.version, nil
	}
	if version, err = w.set.Version(ctx, org); err != nil {
		return false, 0, err
	}
	if runs, err = w.set.Any(ctx, org, fingerprints); err != nil {
		return false, 0, err
	}
	if !runs || len(fingerprints) == 1 {
		for _, fingerprint := range fingerprints {
			w.known.Put(org+"/"+fingerprint, runningState{runs: runs, version: version}, 1)
		}
	}
	return runs, version, nil
}

// remembered is not ok unless the same is known of all the fingerprints.
func (w *whetherRunning) remembered(org string, fingerprints []string) (state runningState, ok bool) {
	for i, fingerprint := range fingerprints {
		one, ok := w.known.Get(org + "/" + fingerprint)
		if !ok || i > 0 && one != state {
			return state, false
		}
		state = one
	}
	return state, true
}
