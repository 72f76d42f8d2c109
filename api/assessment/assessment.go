// Package assessment finds out whether artifacts are compliant, for asserts and for the admission of what clusters are
// to run.
package assessment

import (
	"context"
	"slices"

	"attestry/api/resource"
	"attestry/app/facts"
	"attestry/evidence"
	"attestry/evidence/policy"
)

// The scopes of asserts (docs/semantics.md 18.7).
const (
	FlowScope        = "flow"
	EnvironmentScope = "environment"
	PolicyScope      = "policy"
)

// Basis is what artifacts are assessed by.
type Basis struct {
	Scope string
	// Environment is empty unless the scope is that of an environment.
	Environment evidence.Environment
	Applied     []policy.Applied
}

// OfEnvironment is the basis of an environment: the latest versions of its policies.
func OfEnvironment(ctx context.Context, base *resource.Base, environment evidence.Environment) (*Basis, error) {
	applied, err := base.Policies.Latest(ctx, environment.Org, environment.Policies)
	return &Basis{Scope: EnvironmentScope, Environment: environment, Applied: applied}, err
}

// Image is an artifact to be assessed.
type Image struct {
	Fingerprint string
	// Name is the one under which policies see the artifact if no flow knows it, and always if it is Running under it.
	Name    string
	Running bool
}

// Assessment is what is known of an artifact, and what policies say of it.
type Assessment struct {
	*Basis
	Artifact facts.Artifact
	// Origins is empty if no flow knows the artifact.
	Origins []evidence.Origin
	// Flows are the numbers of the flows that count.
	Flows       []int
	Evaluations []policy.Evaluation // one per policy that is applied
	// Allowance is nil unless the environment's allow list has the artifact.
	Allowance *evidence.Allowance
}

// Compliant is the verdict: that of the policies, or of the flows where no policy is applied.
func (a *Assessment) Compliant() bool {
	if len(a.Applied) == 0 {
		return len(a.Flows) > 0 && !slices.ContainsFunc(a.Flows, func(flow int) bool { return a.Artifact.Flows[flow].Status != evidence.Compliant })
	}
	return a.Allowance != nil || !slices.ContainsFunc(a.Evaluations, func(e policy.Evaluation) bool { return !e.Compliant() })
}

// Assess loads artifacts and evaluates them.
func Assess(ctx context.Context, base *resource.Base, org string, basis *Basis, images []Image) ([]*Assessment, error) {
	assessed, err := Load(ctx, base, org, basis, images)
	for _, one := range assessed {
		if err := one.Evaluate(ctx); err != nil {
			return nil, err
		}
	}
	return assessed, err
}

// Load reads what is known of artifacts of an organization, in their order: as many commands for many as for one.
// Policies see an artifact under the file name of its newest report, unless it is Running.
func Load(ctx context.Context, base *resource.Base, org string, basis *Basis, images []Image) ([]*Assessment, error) {
	subjects, err := subjectsOf(ctx, base, org, images)
	if err != nil {
		return nil, err
	}
	if err := addUnapproved(ctx, base, basis, subjects); err != nil {
		return nil, err
	}
	allowed := map[string]evidence.Allowance{}
	if basis.Environment.ID != "" {
		if allowed, err = base.Allowlist.Of(ctx, basis.Environment.ID, resource.Map(subjects, (*facts.Subject).Fingerprints), evidence.Seconds(base.Clock())); err != nil {
			return nil, err
		}
	}
	loaded, err := base.Facts.Load(ctx, org, subjects, policy.ControlsOf(basis.Applied))
	if err != nil {
		return nil, err
	}
	assessed := make([]*Assessment, 0, len(images))
	for i := range loaded {
		one := &Assessment{Basis: basis, Artifact: loaded[i], Origins: subjects[i].Origins}
		if len(one.Origins) > 0 && !images[i].Running {
			one.Artifact.Name = facts.NewestName(one.Origins, one.Artifact.States)
		}
		if allowance, ok := allowed[images[i].Fingerprint]; ok {
			one.Allowance = &allowance
		}
		for number := range one.Artifact.Flows {
			one.Flows = append(one.Flows, number)
		}
		assessed = append(assessed, one)
	}
	return assessed, nil
}

// subjectsOf reads which flows know the artifacts.
func subjectsOf(ctx context.Context, base *resource.Base, org string, images []Image) ([]facts.Subject, error) {
	known, err := base.Provenances.GetMany(ctx, org, resource.Map(images, func(image *Image) string { return image.Fingerprint }))
	if err != nil {
		return nil, err
	}
	origins := make(map[string][]evidence.Origin, len(known))
	for i := range known {
		origins[known[i].Fingerprint] = known[i].Origins()
	}
	return resource.Map(images, func(image *Image) facts.Subject {
		return facts.Subject{Fingerprint: image.Fingerprint, Name: image.Name, Origins: origins[image.Fingerprint]}
	}), nil
}

// Evaluate evaluates the artifact by all policies that are applied.
func (a *Assessment) Evaluate(ctx context.Context) error {
	for _, one := range a.Applied {
		// Policies can be made to take long; the request has a time limit.
		if err := ctx.Err(); err != nil {
			return err
		}
		a.Evaluations = append(a.Evaluations, one.Policy.Evaluate(&a.Artifact.Facts))
	}
	return nil
}
