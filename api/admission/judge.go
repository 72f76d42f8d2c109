package admission

import (
	"context"
	"strings"
	"time"

	"attestry/api/assessment"
	"attestry/api/resource"
	"attestry/evidence"
	"attestry/evidence/admission"
	"attestry/storage/cache"
)

// maxImages bounds the different images of a workload.
const maxImages = 1000

// maxReasons bounds the sentences on why an image fails. The first ones are kept.
const maxReasons = 3

// request is a cluster's request to admit a workload.
type request struct {
	org         evidence.OrgAccess
	environment evidence.Environment
	workload    *admission.Workload
	user        string // the user of the cluster
	dryRun      bool   // nothing will run, so nothing is recorded
}

// judge decides on a workload. It records the decision, unless the workload is simply admitted or this is a dry run.
// The number of commands does not depend on the number of images, except for one for each image resolved by its tag.
func (h *handlers) judge(ctx context.Context, r *request) (admission.Decision, error) {
	settings := r.environment.AdmissionOf()
	if !admission.Judged(&settings, r.workload) {
		return admission.Decision{Outcome: admission.Admitted}, nil
	}
	if number := len(r.workload.Images); number > maxImages {
		return admission.Decision{}, evidence.FieldError("images", "There should be at most %d different images [input: %d]", maxImages, number)
	}
	findings, err := h.loadFindings(ctx, r, &settings)
	if err != nil {
		return admission.Decision{}, err
	}
	decision := admission.Decide(&settings, r.workload, findings)
	if decision.Outcome == admission.Admitted || r.dryRun {
		return decision, nil
	}
	record := admission.NewRecord(r.org.OrgID, r.environment.ID, r.user, r.workload, &decision, evidence.Seconds(h.Clock()))
	return decision, h.Admissions.Record(ctx, record)
}

func (h *handlers) loadFindings(ctx context.Context, r *request, settings *evidence.AdmissionSettings) ([]admission.Finding, error) {
	findings := resource.Map(r.workload.Images, func(reference *string) admission.Finding {
		image, valid := admission.ParseImage(*reference)
		if !valid {
			image.Reference = *reference
		}
		return admission.Finding{Image: image, Valid: valid}
	})
	if settings.Tags == evidence.RuleResolve {
		if err := h.resolveTags(ctx, r.org.OrgID, findings); err != nil {
			return nil, err
		}
	}
	var uncached []*admission.Finding
	var images []assessment.Image
	now := h.Clock()
	for i := range findings {
		found := &findings[i]
		if found.Image.Fingerprint == "" || h.verdicts.load(&r.environment, found, now) {
			continue
		}
		uncached = append(uncached, found)
		images = append(images, assessment.Image{Fingerprint: found.Image.Fingerprint, Name: found.Image.Reference})
	}
	if len(images) == 0 {
		return findings, nil
	}
	basis, err := assessment.OfEnvironment(ctx, h.Base, r.environment)
	if err != nil {
		return nil, err
	}
	assessed, err := assessment.Assess(ctx, h.Base, r.org.OrgID, basis, images)
	if err != nil {
		return nil, err
	}
	for i, found := range uncached {
		h.addAssessment(r.org, found, assessed[i])
		h.verdicts.store(&r.environment, found, now)
	}
	return findings, nil
}

// resolveTags gives images without a digest the fingerprint of the newest artifact with their name and tag.
func (h *handlers) resolveTags(ctx context.Context, org string, findings []admission.Finding) error {
	var names []string
	for i := range findings {
		if findings[i].Valid && findings[i].Image.Fingerprint == "" {
			names = append(names, findings[i].Image.Reference)
		}
	}
	newest, err := h.Artifacts.NewestNamed(ctx, org, names)
	for i := range findings {
		if image := &findings[i].Image; image.Fingerprint == "" {
			image.Fingerprint = newest[image.Reference]
		}
	}
	return err
}

// addAssessment sets the fields of a finding that depend on the assessment of its image.
func (h *handlers) addAssessment(org evidence.OrgAccess, found *admission.Finding, assessed *assessment.Assessment) {
	found.Known, found.Allowed, found.Compliant = len(assessed.Origins) > 0, assessed.Allowance != nil, assessed.Compliant()
	if found.Compliant || !found.Known && len(assessed.Applied) == 0 {
		return
	}
	sentences, _ := assessed.Explain(h.Links, org, true, resource.OneList())
	for _, sentence := range sentences[:min(len(sentences), maxReasons)] {
		reason := sentence.Text
		if sentence.Remedy != nil {
			reason += " " + *sentence.Remedy
		}
		found.Reasons = append(found.Reasons, reason)
	}
}

const (
	// verdictAge is how long a verdict is cached. A rollout sends a request for each of its pods.
	verdictAge = time.Second
	// maxVerdicts bounds the cached verdicts.
	maxVerdicts = 10_000
)

// verdicts caches which images are compliant (docs/semantics.md 25.2), each with whether a flow knows it. Other verdicts
// are not cached, so that an image is admitted as soon as it becomes compliant.
type verdicts struct{ cached cache.TTL[bool] }

// load sets the verdict of a finding from the cache. It reports whether there was one.
func (v verdicts) load(environment *evidence.Environment, found *admission.Finding, now time.Time) bool {
	known, _, ok := v.cached.Get(verdictKey(environment, found), now)
	if ok {
		found.Known, found.Compliant = known, true
	}
	return ok
}

// store caches the verdict of a finding, unless a permission made it, which may end. readAt is a time before its facts
// were read.
func (v verdicts) store(environment *evidence.Environment, found *admission.Finding, readAt time.Time) {
	if found.Compliant && !found.Allowed {
		v.cached.Put(verdictKey(environment, found), found.Known, readAt, 0)
	}
}

// verdictKey includes the environment's policies, so that attaching a policy takes effect at once.
func verdictKey(environment *evidence.Environment, found *admission.Finding) string {
	return strings.Join([]string{environment.ID, strings.Join(environment.Policies, " "), found.Image.Fingerprint, found.Image.Reference}, " ")
}
