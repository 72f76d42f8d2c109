// Package facts reads the facts that policies evaluate about artifacts (docs/semantics.md 18.3).
package facts

import (
	"context"

	"attestry/app/states"
	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/policy"
	"attestry/storage/pipelines"
)

// Subject is an artifact to be evaluated.
type Subject struct {
	Fingerprint string
	// Name is the name under which it runs, or was reported.
	Name string
	// Origins are its newest records, one of each flow.
	Origins []evidence.Origin
	// Unapproved are earlier trails whose unapproved changes it brings to an environment, by the id of the flow.
	Unapproved map[string][]string
}

// Fingerprints returns the artifact's fingerprint and those of its parents.
func (s *Subject) Fingerprints() []string { return evidence.Fingerprints(s.Fingerprint, s.Origins) }

// Artifact has the current facts about an artifact.
type Artifact struct {
	policy.Facts
	// States has one element per origin, in their order.
	States []states.Evaluated
}

// Loader reads facts.
type Loader struct {
	Flows     *pipelines.Flows
	Decisions *pipelines.Decisions
	States    *states.Evaluator
}

// Load reads the current facts about artifacts, in their order, with the latest decisions on the given controls. The
// number of commands grows with the pages of flows, trails, templates, slots and decisions.
func (l *Loader) Load(ctx context.Context, org string, subjects []Subject, controls []string) ([]Artifact, error) {
	var queries []states.Query
	var decided, flows []string
	for i := range subjects {
		subject := &subjects[i]
		for j := range subject.Origins {
			queries = append(queries, states.QueryOf(subject.Fingerprint, &subject.Origins[j]))
			flows = append(flows, subject.Origins[j].Flow)
		}
		decided = append(decided, pipelines.ArtifactSubjects(subject.Fingerprint, subject.Origins)...)
	}
	evaluated, err := l.States.Details(ctx, org, queries)
	if err != nil {
		return nil, err
	}
	decisions, err := l.Decisions.Latest(ctx, org, controls, evidence.Distinct(decided))
	if err != nil {
		return nil, err
	}
	for _, decision := range decisions {
		flows = append(flows, decision.Flow)
	}
	names, err := l.Flows.Names(ctx, org, evidence.Distinct(flows))
	if err != nil {
		return nil, err
	}
	loaded := make([]Artifact, 0, len(subjects))
	for i := range subjects {
		n := len(subjects[i].Origins)
		loaded = append(loaded, newArtifact(&subjects[i], evaluated[:n:n], names, latest(&subjects[i], controls, decisions, names)))
		evaluated = evaluated[n:]
	}
	return loaded, nil
}

// newArtifact combines the facts about an artifact; evaluated has its states by origin.
func newArtifact(subject *Subject, evaluated []states.Evaluated, flows map[string]evidence.Flow, decisions map[string]policy.Decision) Artifact {
	artifact := Artifact{States: evaluated}
	artifact.Name, artifact.Fingerprint, artifact.Decisions = subject.Name, subject.Fingerprint, decisions
	for i := range evaluated {
		state, origin := &evaluated[i], &subject.Origins[i]
		flow := compliance.Flow(state.Template, state.Trail, &state.Slot, state.Artifact, state.Status)
		flow.Name, flow.Tags, flow.Unapproved = flows[origin.Flow].Name, flows[origin.Flow].Tags, subject.Unapproved[origin.Flow]
		artifact.Flows = append(artifact.Flows, flow)
	}
	return artifact
}

// latest returns the latest decision on each control about an artifact or one of its trails.
func latest(subject *Subject, controls []string, decisions map[pipelines.DecisionKey]pipelines.Decision, flows map[string]evidence.Flow) map[string]policy.Decision {
	if len(decisions) == 0 {
		return nil
	}
	found := make(map[string]policy.Decision, len(controls))
	for _, control := range controls {
		for _, about := range pipelines.ArtifactSubjects(subject.Fingerprint, subject.Origins) {
			decision, ok := decisions[pipelines.DecisionKey{Control: control, Subject: about}]
			known, exists := found[control]
			if ok && (!exists || evidence.CompareEntries(decision.Entry, known.Entry) > 0) {
				found[control] = policy.Decision{Entry: decision.Entry, Flow: flows[decision.Flow].Name, Trail: decision.Trail}
			}
		}
	}
	return found
}

// NewestName returns the file name under which an artifact was reported last, or "". evaluated is by origin.
func NewestName(origins []evidence.Origin, evaluated []states.Evaluated) string {
	if len(origins) == 0 {
		return ""
	}
	newest := 0
	for i := range origins {
		if origins[i].Later(&origins[newest]) {
			newest = i
		}
	}
	return evaluated[newest].Artifact.Filename
}
