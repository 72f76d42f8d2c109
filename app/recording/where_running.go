package recording

import (
	"context"
	"maps"
	"slices"

	"attestry/storage"
)

// maxKnownRunning is of how many fingerprints a process remembers where they run.
const maxKnownRunning = 20_000

// knownRunning is where a fingerprint runs, by a version of the running set.
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

// whereRunning returns where fingerprints of an organization run, or their children, or are about to. It looks up the children
// of those that are not given. It remembers each answer with the version of the running set, unless anew ignores what is
// remembered. The batch that relies on an answer checks the version, so nothing can have started since.
func (r *Recorder) whereRunning(ctx context.Context, org string, fingerprints []string, children map[string][]string, anew bool) (affected, error) {
	if found, ok := r.rememberedRunning(org, fingerprints); ok && !anew {
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
	where, complete, err := r.Running.Where(ctx, org, storage.Distinct(all))
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
		r.running.Put(org+"/"+fingerprint, knownRunning{environments: environments, version: version}, 1+len(environments))
	}
	found.environments = storage.Distinct(found.environments)
	return found, nil
}

// rememberedRunning returns what is remembered. It is ok only if all fingerprints were read in one version.
func (r *Recorder) rememberedRunning(org string, fingerprints []string) (found affected, ok bool) {
	for i, fingerprint := range fingerprints {
		known, ok := r.running.Get(org + "/" + fingerprint)
		if !ok || i > 0 && known.version != found.version {
			return found, false
		}
		found.version = known.version
		found.environments = slices.Concat(found.environments, known.environments)
	}
	found.environments = storage.Distinct(found.environments)
	return found, true
}
