package recording

import (
	"context"
	"maps"
	"slices"

	"attestry/storage"
	"attestry/storage/cache"
	"attestry/storage/environments"
	"attestry/storage/pipelines"
)

// maxKnownRunning is of how many fingerprints a process remembers where they run.
const maxKnownRunning = 20_000

// whereRunning finds the environments of an organization in which fingerprints run. It remembers each answer with the
// version of the running set. The batch that relies on an answer checks the version, so nothing can have started since.
type whereRunning struct {
	set         *environments.RunningSet
	provenances *pipelines.Provenances
	known       cache.LRU[knownRunning]
}

type knownRunning struct {
	environments []string
	version      int64
}

// affected are the environments in which something runs whose state may change.
type affected struct {
	// all tells that they are not all known: then all of the organization are affected.
	all          bool
	environments []string
	// version is that of the running set before they were read.
	version int64
}

// of returns where fingerprints run, or their children, or are about to. It looks up the children of those that are not
// given. anew ignores what is remembered.
func (w *whereRunning) of(ctx context.Context, org string, fingerprints []string, children map[string][]string, anew bool) (affected, error) {
	if found, ok := w.remembered(org, fingerprints); ok && !anew {
		return found, nil
	}
	version, err := w.set.Version(ctx, org)
	if err != nil {
		return affected{}, err
	}
	others := slices.DeleteFunc(slices.Clone(fingerprints), func(fingerprint string) bool {
		_, given := children[fingerprint]
		return given
	})
	stored, err := w.provenances.Children(ctx, org, others)
	if err != nil {
		return affected{}, err
	}
	maps.Copy(stored, children)
	all := slices.Concat(fingerprints, slices.Concat(slices.Collect(maps.Values(stored))...))
	where, complete, err := w.set.Where(ctx, org, storage.Distinct(all))
	if err != nil || !complete {
		return affected{all: true}, err
	}
	found := affected{version: version}
	for _, fingerprint := range fingerprints {
		environments := slices.Clip(where[fingerprint])
		for _, child := range stored[fingerprint] {
			environments = append(environments, where[child]...)
		}
		found.environments = append(found.environments, environments...)
		w.known.Put(org+"/"+fingerprint, knownRunning{environments: environments, version: version}, 1+len(environments))
	}
	found.environments = storage.Distinct(found.environments)
	return found, nil
}

// remembered returns what is remembered. It is ok only if all fingerprints were read in one version.
func (w *whereRunning) remembered(org string, fingerprints []string) (found affected, ok bool) {
	for i, fingerprint := range fingerprints {
		known, ok := w.known.Get(org + "/" + fingerprint)
		if !ok || i > 0 && known.version != found.version {
			return found, false
		}
		found.version = known.version
		found.environments = slices.Concat(found.environments, known.environments)
	}
	found.environments = storage.Distinct(found.environments)
	return found, true
}
