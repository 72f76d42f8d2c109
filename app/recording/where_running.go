package recording

import (
	"context"
	"maps"
	"slices"

	"attestry/evidence"
)

// maxCachedRunning bounds the fingerprints and environments in the cache of where fingerprints run.
const maxCachedRunning = 20_000

// cachedRunning is where a fingerprint runs, by a version of the running set.
type cachedRunning struct {
	environments []string
	version      int64
}

// affected are the environments in which something runs whose state may change.
type affected struct {
	// all means that they are not all known: then all of the organization are affected.
	all          bool
	environments []string
	// version is that of the running set before they were read.
	version int64
}

// whereRunning returns where fingerprints of an organization or their children run or are starting. It looks up
// children that are not given. It caches each answer with the version of the running set; refresh ignores cached ones.
// The batch that relies on an answer checks the version, so nothing can have started since.
func (r *Recorder) whereRunning(ctx context.Context, org string, fingerprints []string, children map[string][]string, refresh bool) (affected, error) {
	if found, ok := r.cachedWhereRunning(org, fingerprints); ok && !refresh {
		return found, nil
	}
	version, err := r.Running.Version(ctx, org)
	if err != nil {
		return affected{}, err
	}
	others := slices.DeleteFunc(slices.Clone(fingerprints), func(fingerprint string) bool {
		_, given := children[fingerprint]
		return given
	})
	stored, err := r.Provenances.Children(ctx, org, others)
	if err != nil {
		return affected{}, err
	}
	maps.Copy(stored, children)
	all := slices.Concat(fingerprints, slices.Concat(slices.Collect(maps.Values(stored))...))
	where, complete, err := r.Running.Where(ctx, org, evidence.Distinct(all))
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
		r.running.Put(org+"/"+fingerprint, cachedRunning{environments: environments, version: version}, 1+len(environments))
	}
	found.environments = evidence.Distinct(found.environments)
	return found, nil
}

// cachedWhereRunning returns the cached answers. ok is false unless all were read in one version of the running set.
func (r *Recorder) cachedWhereRunning(org string, fingerprints []string) (found affected, ok bool) {
	for i, fingerprint := range fingerprints {
		known, ok := r.running.Get(org + "/" + fingerprint)
		if !ok || i > 0 && known.version != found.version {
			return found, false
		}
		found.version = known.version
		found.environments = slices.Concat(found.environments, known.environments)
	}
	found.environments = evidence.Distinct(found.environments)
	return found, true
}
