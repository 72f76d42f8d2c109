package reports

import (
	"context"
	"slices"

	"attestry/app/facts"
	"attestry/evidence"
	"attestry/evidence/policy"
	rules "attestry/evidence/snapshot"
)

// factsPerRead is how many artifacts' facts are held at a time.
const factsPerRead = 1000

// attachedPolicies returns the policies of an environment in their latest versions, and notes the
// environment's name.
func (p *Processor) attachedPolicies(ctx context.Context, next *nextSnapshot) ([]policy.Applied, error) {
	environment, err := p.environment(ctx, next.made.Environment)
	if err != nil {
		return nil, err
	}
	next.environment = environment.Name
	return p.store.Policies.Latest(ctx, next.made.Org, environment.Policies)
}

// environment returns an environment, an empty one if there is none.
func (p *Processor) environment(ctx context.Context, id string) (evidence.Environment, error) {
	found, err := p.store.Environments.GetMany(ctx, []string{id})
	if err != nil || len(found) == 0 {
		return evidence.Environment{}, err
	}
	return found[0], nil
}

// applyPolicies evaluates what was looked up by the policies of the environment, and sets its
// states in its trails: so many commands per thousand artifacts.
func (p *Processor) applyPolicies(ctx context.Context, next *rules.Snapshot, applied []policy.Applied, images []rules.Reported, known map[string]rules.Known) error {
	if len(applied) == 0 {
		return nil
	}
	controls := policy.ControlsOf(applied)
	images = slices.DeleteFunc(slices.Clone(images), func(image rules.Reported) bool {
		_, looked := known[image.Fingerprint]
		return !looked
	})
	for some := range slices.Chunk(images, factsPerRead) {
		subjects, fingerprints := subjectsOf(some, known)
		loaded, err := p.store.Facts.Load(ctx, next.Org, subjects, controls)
		if err != nil {
			return err
		}
		allowed, err := p.store.Allowlist.Of(ctx, next.Environment, fingerprints)
		if err != nil {
			return err
		}
		for i, fingerprint := range fingerprints {
			// Policies can be made to take long; the task has a time limit.
			if err := ctx.Err(); err != nil {
				return err
			}
			one := known[fingerprint]
			_, one.Allowed = allowed[fingerprint]
			setFacts(&one, &loaded[i])
			one.Decisions, one.Compliant = rules.EvaluatePolicies(applied, &loaded[i].Facts, one.Allowed)
			known[fingerprint] = one
		}
	}
	return nil
}

// subjectsOf names the artifacts whose facts are to be read, and their fingerprints.
func subjectsOf(images []rules.Reported, known map[string]rules.Known) (subjects []facts.Subject, fingerprints []string) {
	for _, image := range images {
		subject := facts.Subject{Fingerprint: image.Fingerprint, Name: image.Name}
		for _, origin := range known[image.Fingerprint].Origins {
			subject.Origins = append(subject.Origins, origin.Origin)
		}
		subjects, fingerprints = append(subjects, subject), append(fingerprints, image.Fingerprint)
	}
	return subjects, fingerprints
}

// setFacts keeps of an artifact's facts what snapshots show.
func setFacts(known *rules.Known, artifact *facts.Artifact) {
	for i := range known.Origins {
		flow := &artifact.Flows[i]
		known.Origins[i].Status = flow.Status
		if flow.Status != evidence.Compliant {
			known.Origins[i].Shortfall = new(flow.Shortfall)
		}
	}
}
