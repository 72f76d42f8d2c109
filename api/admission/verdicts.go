package admission

import (
	"strings"
	"time"

	"attestry/evidence"
	"attestry/evidence/admission"
	"attestry/storage/cache"
)

const (
	// verdictAge is how long a verdict is kept: the pods of a rollout are asked about one after the other.
	verdictAge = time.Second
	// maxVerdicts is how many verdicts are kept.
	maxVerdicts = 10_000
)

// verdicts are those on compliant images in environments (docs/semantics.md 25.2). Other verdicts are not kept, so that
// whatever makes an image compliant acts at once.
type verdicts struct{ kept cache.TTL[verdict] }

// verdict is what is known of a compliant image.
type verdict struct{ known, allowed bool }

func newVerdicts() verdicts { return verdicts{cache.NewTTL[verdict](verdictAge, maxVerdicts)} }

// recall adds the verdict on an image, and returns false if none is kept.
func (v verdicts) recall(environment *evidence.Environment, found *admission.Finding, now time.Time) bool {
	kept, _, ok := v.kept.Get(verdictKey(environment, found), now)
	if ok {
		found.Known, found.Allowed, found.Compliant = kept.known, kept.allowed, true
	}
	return ok
}

// keep keeps the verdict on an image, which was found after a moment.
func (v verdicts) keep(environment *evidence.Environment, found *admission.Finding, after time.Time) {
	if found.Compliant {
		v.kept.Put(verdictKey(environment, found), verdict{known: found.Known, allowed: found.Allowed}, after, 0)
	}
}

// verdictKey names all that the caller knows and the verdict depends on, so that attaching a policy acts at once.
func verdictKey(environment *evidence.Environment, found *admission.Finding) string {
	return strings.Join([]string{environment.ID, strings.Join(environment.Policies, " "), found.Image.Fingerprint, found.Image.Reference}, " ")
}
