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

// maxImages is how many different images a workload may have.
const maxImages = 1000

// maxReasons is how many sentences say why an image fails: those that come first.
const maxReasons = 3

// asked is a workload that a cluster asks about.
type asked struct {
	org         evidence.OrgAccess
	environment evidence.Environment
	workload    *admission.Workload
	// user is who asked the cluster.
	user string
	// dry tells that nothing will run, and nothing is recorded.
	dry bool
}

// judge decides on a workload and keeps the record of what is refused: as many commands for many images as for one, and one
// more for each that is resolved by its tag.
func (h *handlers) judge(ctx context.Context, asked *asked) (admission.Decision, error) {
	settings := asked.environment.AdmissionOf()
	if !admission.Judged(&settings, asked.workload) {
		return admission.Decision{Outcome: admission.Admitted}, nil
	}
	if number := len(asked.workload.Images); number > maxImages {
		return admission.Decision{}, evidence.FieldError("images", "There should be at most %d different images [input: %d]", maxImages, number)
	}
	findings, err := h.find(ctx, asked, &settings)
	if err != nil {
		return admission.Decision{}, err
	}
	decision := admission.Decide(&settings, asked.workload, findings)
	if decision.Outcome == admission.Admitted || asked.dry {
		return decision, nil
	}
	record := admission.NewRecord(asked.org.OrgID, asked.environment.ID, asked.user, asked.workload, &decision, evidence.Seconds(h.Clock()))
	return decision, h.Admissions.Record(ctx, record)
}

// find returns what is known of the images of a workload.
func (h *handlers) find(ctx context.Context, asked *asked, settings *evidence.AdmissionSettings) ([]admission.Finding, error) {
	findings := resource.Map(asked.workload.Images, func(reference *string) admission.Finding {
		image, valid := admission.ParseImage(*reference)
		if !valid {
			image.Reference = *reference
		}
		return admission.Finding{Image: image, Valid: valid}
	})
	if settings.Tags == evidence.RuleResolve {
		if err := h.resolve(ctx, asked.org.OrgID, findings); err != nil {
			return nil, err
		}
	}
	var unknown []*admission.Finding
	var images []assessment.Image
	now := h.Clock()
	for i := range findings {
		found := &findings[i]
		if found.Image.Fingerprint == "" || h.verdicts.recall(&asked.environment, found, now) {
			continue
		}
		unknown = append(unknown, found)
		images = append(images, assessment.Image{Fingerprint: found.Image.Fingerprint, Name: found.Image.Reference})
	}
	if len(images) == 0 {
		return findings, nil
	}
	basis, err := assessment.OfEnvironment(ctx, h.Base, asked.environment)
	if err != nil {
		return nil, err
	}
	assessed, err := assessment.Assess(ctx, h.Base, asked.org.OrgID, basis, images)
	if err != nil {
		return nil, err
	}
	for i, found := range unknown {
		h.conclude(asked.org, found, assessed[i])
		h.verdicts.keep(&asked.environment, found, now)
	}
	return findings, nil
}

// resolve gives images without a digest that of the newest artifact that was reported under their name and tag.
func (h *handlers) resolve(ctx context.Context, org string, findings []admission.Finding) error {
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

// conclude adds what an assessment says of an image.
func (h *handlers) conclude(org evidence.OrgAccess, found *admission.Finding, assessed *assessment.Assessment) {
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
