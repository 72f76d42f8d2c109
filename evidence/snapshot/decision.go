package snapshot

import (
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/policy"
)

// Decision is the evaluation of an artifact by one policy when a snapshot was made, in a compact form.
type Decision struct {
	// Rules has a word for each rule of the policy, with one letter per origin, or one for all.
	Rules string `json:"rules"`
	// Reasons has the attestations and faults of failing resolutions, which the letters do not express.
	Reasons []Reason `json:"reasons,omitempty"`
	// LeftOut is how many reasons were dropped, as there were too many.
	LeftOut int `json:"left_out,omitempty"`
}

// Reason is why a rule failed for one flow.
type Reason struct {
	Rule        int                 `json:"rule"`
	Flow        int                 `json:"flow"` // index of the artifact's origin, or policy.NoFlow
	Attestation *policy.Attestation `json:"attestation,omitempty"`
	// Fault is why a condition could not be evaluated.
	Fault string `json:"fault,omitempty"`
}

const (
	// maxReasons bounds the reasons of a decision. The first ones are kept.
	maxReasons = 20
	// maxRulesSize bounds Decision.Rules, in bytes. Beyond it, a rule has a single letter for all flows.
	maxRulesSize = 16 << 10
	// maxDecisionsSize bounds the reasons of all decisions on an artifact, and separately their rules, in bytes.
	maxDecisionsSize = 64 << 10
	// maxFault bounds Reason.Fault, in characters. It may quote a condition.
	maxFault = 200
)

// outcomeLetter is the letter of an outcome in Decision.Rules.
type outcomeLetter struct {
	letter  byte
	outcome policy.Outcome
}

// outcomes has the failing outcomes after the others, the worst last.
var outcomes = []outcomeLetter{
	{'s', policy.Satisfied},
	{'i', policy.NotApplicable},
	{'p', policy.MissingProvenance},
	{'n', policy.NoProvenance},
	{'t', policy.NonCompliantInTrail},
	{'m', policy.MissingAttestation},
	{'c', policy.NonCompliantAttestation},
}

// decisionSpace is the number of bytes left for the decisions on one artifact.
type decisionSpace struct{ rules, reasons int }

// newDecision encodes an evaluation.
func newDecision(evaluation policy.Evaluation, space *decisionSpace) Decision {
	var decision Decision
	words := make([]string, 0, len(evaluation))
	size, most := 0, min(maxRulesSize, space.rules)
	for number, rule := range evaluation {
		word := encodeOutcomes(rule.Resolutions)
		if size += len(word) + 1; size > most {
			word = worstLetter(word)
		}
		words = append(words, word)
		for _, resolution := range rule.Resolutions {
			if !resolution.Outcome.Failing() || resolution.Attestation == nil && resolution.Fault == "" {
				continue
			}
			reason := Reason{
				Rule: number, Flow: resolution.Flow, Attestation: resolution.Attestation,
				Fault: evidence.ShortenTo(resolution.Fault, maxFault),
			}
			if size := reason.size(); len(decision.Reasons) == maxReasons || size > space.reasons {
				decision.LeftOut++
			} else {
				space.reasons -= size
				decision.Reasons = append(decision.Reasons, reason)
			}
		}
	}
	decision.Rules = strings.Join(words, " ")
	space.rules = max(space.rules-len(decision.Rules), 0)
	return decision
}

// encodeOutcomes encodes resolutions, as a single letter if all outcomes are equal.
func encodeOutcomes(resolutions []policy.Resolution) string {
	word := make([]byte, 0, len(resolutions))
	for _, resolution := range resolutions {
		i := slices.IndexFunc(outcomes, func(one outcomeLetter) bool { return one.outcome == resolution.Outcome })
		word = append(word, outcomes[i].letter)
	}
	if len(slices.Compact(slices.Clone(word))) == 1 {
		word = word[:1]
	}
	return string(word)
}

// worstLetter is the letter of the worst outcome in a word.
func worstLetter(word string) string {
	for _, one := range slices.Backward(outcomes) {
		if strings.IndexByte(word, one.letter) >= 0 {
			return string(one.letter)
		}
	}
	return word
}

// Evaluation decodes the evaluation of an artifact that has a number of origins.
func (d *Decision) Evaluation(origins int) policy.Evaluation {
	words := strings.Fields(d.Rules)
	evaluation := make(policy.Evaluation, len(words))
	for number, word := range words {
		if len(word) > max(origins, 1) { // a snapshot may leave out origins of an artifact
			word = worstLetter(word)
		}
		if origins == 0 {
			evaluation[number].Resolutions = []policy.Resolution{d.resolution(number, policy.NoFlow, word[0])}
			continue
		}
		resolutions := make([]policy.Resolution, 0, origins)
		for flow := range origins {
			// A single letter is that of every flow.
			resolutions = append(resolutions, d.resolution(number, flow, word[min(flow, len(word)-1)]))
		}
		evaluation[number].Resolutions = resolutions
	}
	return evaluation
}

func (d *Decision) resolution(rule, flow int, letter byte) policy.Resolution {
	of, _ := evidence.First(outcomes, func(one outcomeLetter) bool { return one.letter == letter })
	resolution := policy.Resolution{Flow: flow, Outcome: of.outcome}
	for i := range d.Reasons {
		if reason := &d.Reasons[i]; reason.Rule == rule && reason.Flow == flow {
			resolution.Attestation, resolution.Fault = reason.Attestation, reason.Fault
		}
	}
	return resolution
}

// Compliant reports whether no rule failed.
func (d *Decision) Compliant() bool {
	return !slices.ContainsFunc(outcomes, func(one outcomeLetter) bool {
		return one.outcome.Failing() && strings.IndexByte(d.Rules, one.letter) >= 0
	})
}

// maxFailures bounds the failures of a deployment, and maxFailure the length of each before its ellipsis, in bytes.
const (
	maxFailures = 10
	maxFailure  = 300 - len("…")
)

// failures are the reasons why policies of the snapshot refused an artifact.
func (s *Snapshot) failures(artifact *Artifact) (failures []string) {
	for i := range artifact.Decisions {
		for _, rule := range artifact.Decisions[i].Evaluation(len(artifact.Origins)) {
			for _, resolution := range rule.Resolutions {
				if !resolution.Outcome.Failing() {
					continue
				}
				failure := evidence.Shorten(s.Policies[i].Name+": "+artifact.describe(&resolution), maxFailure)
				if len(failures) < maxFailures && !slices.Contains(failures, failure) {
					failures = append(failures, failure)
				}
			}
		}
	}
	return failures
}

// describe returns why a resolution failed.
func (a *Artifact) describe(failed *policy.Resolution) string {
	text := string(failed.Outcome)
	switch found := failed.Attestation; {
	case found != nil && found.Finding != "":
		return text + " '" + found.Name + "': " + found.Finding
	case found != nil:
		return text + " '" + found.Name + "'"
	case failed.Fault != "":
		return text + ": " + failed.Fault
	case failed.Outcome == policy.NonCompliantInTrail && a.Origins[failed.Flow].Shortfall != nil:
		return text + a.Origins[failed.Flow].Shortfall.Reasons()
	}
	return text
}

// size is an upper bound of the decision's size in JSON, in bytes.
func (d *Decision) size() int {
	return decisionOverhead + len(d.Rules) + sum(d.Reasons, (*Reason).size)
}

func (r *Reason) size() int {
	size := reasonOverhead + textSize(r.Fault)
	if a := r.Attestation; a != nil {
		size += textSize(a.ID, a.Name, a.Type, a.Flow, a.Trail, a.Finding)
	}
	return size
}

// EvaluatePolicies evaluates an artifact by the applied policies. It is compliant if it passes all of them or is on the
// environment's allow list. Without policies, compliant is nil (docs/semantics.md 9.4).
func EvaluatePolicies(applied []policy.Applied, facts *policy.Facts, allowed bool) (decisions []Decision, compliant *bool) {
	if len(applied) == 0 {
		return nil, nil
	}
	verdict, space := true, &decisionSpace{maxDecisionsSize, maxDecisionsSize}
	for _, one := range applied {
		evaluation := one.Policy.Evaluate(facts)
		verdict = verdict && evaluation.Compliant()
		decisions = append(decisions, newDecision(evaluation, space))
	}
	return decisions, new(verdict || allowed)
}
