// Package assessment evaluates whether artifacts are compliant, for asserts and for admission control.
package assessment

import (
	"context"
	"slices"

	"attestry/api/resource"
	"attestry/app/facts"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/storage/pipelines"
)

// The scopes of asserts (docs/semantics.md 18.7).
const (
	FlowScope        = "flow"
	EnvironmentScope = "environment"
	PolicyScope      = "policy"
)

// Basis has the policies that artifacts are assessed by.
type Basis struct {
	Scope string
	// Environment is set if the scope is EnvironmentScope.
	Environment evidence.Environment
	Applied     []policy.Applied
}

// OfEnvironment returns the basis of an environment: the latest versions of its policies.
func OfEnvironment(ctx context.Context, base *resource.Base, environment evidence.Environment) (*Basis, error) {
	applied, err := base.Policies.Latest(ctx, environment.Org, environment.Policies)
	return &Basis{Scope: EnvironmentScope, Environment: environment, Applied: applied}, err
}

// Image is an artifact to be assessed.
type Image struct {
	Fingerprint string
	// Name is the artifact's name for policies. The file name of its newest report replaces it, unless Running is set.
	Name    string
	Running bool
}

// Assessment has the facts about an artifact and its evaluation by policies.
type Assessment struct {
	*Basis
	Artifact facts.Artifact
	// Origins is empty if no flow has reported the artifact.
	Origins []evidence.Origin
	// Flows are the indexes in Artifact.Flows of the flows to show. Without a policy, their status is the verdict.
	Flows       []int
	Evaluations []policy.Evaluation // one per applied policy
	// Allowance is nil unless the artifact is on the environment's allow list.
	Allowance *evidence.Allowance
}

// Compliant returns the verdict of the policies, or of the flows if there is no policy.
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

// Load reads the facts about images, in their order. The number of commands does not depend on the number of images.
// Policies use the file name of an artifact's newest report, unless it is Running.
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
		if allowed, err = base.Allowlist.Of(ctx, basis.Environment.ID, resource.Map(subjects, (*facts.Subject).Fingerprints), evidence.InForceAt(evidence.Seconds(base.Clock()))); err != nil {
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

// subjectsOf reads the origins of the artifacts.
func subjectsOf(ctx context.Context, base *resource.Base, org string, images []Image) ([]facts.Subject, error) {
	known, err := base.Provenances.GetMany(ctx, org, resource.Map(images, func(image *Image) string { return image.Fingerprint }))
	if err != nil {
		return nil, err
	}
	origins := evidence.ToMap(known, func(p *pipelines.Provenance) (string, []evidence.Origin) {
		return p.Fingerprint, p.Origins()
	})
	return resource.Map(images, func(image *Image) facts.Subject {
		return facts.Subject{Fingerprint: image.Fingerprint, Name: image.Name, Origins: origins[image.Fingerprint]}
	}), nil
}

// Evaluate evaluates the artifact by all applied policies.
func (a *Assessment) Evaluate(ctx context.Context) error {
	for _, one := range a.Applied {
		// A policy can be slow by intent, and the request has a time limit.
		if err := ctx.Err(); err != nil {
			return err
		}
		a.Evaluations = append(a.Evaluations, one.Policy.Evaluate(&a.Artifact.Facts))
	}
	return nil
}
