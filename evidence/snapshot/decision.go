package snapshot

import (
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/policy"
)

// Decision is how one policy evaluated an artifact when a snapshot was made, in few bytes.
type Decision struct {
	// Rules has a word for each rule of the policy: a letter for each origin of the artifact, or one for all.
	Rules string `json:"rules"`
	// Reasons says of failing resolutions what the letters do not.
	Reasons []Reason `json:"reasons,omitempty"`
	// LeftOut is how many reasons are not kept, as there were too many.
	LeftOut int `json:"left_out,omitempty"`
}

// Reason is why a rule failed for one flow.
type Reason struct {
	Rule        int                 `json:"rule"`
	Flow        int                 `json:"flow"` // of the artifact's origins, or policy.NoFlow
	Attestation *policy.Attestation `json:"attestation,omitempty"`
	// Fault says why a condition could not be evaluated.
	Fault string `json:"fault,omitempty"`
}

const (
	// maxReasons is how many reasons a decision keeps: the first.
	maxReasons = 20
	// maxRulesSize bounds Decision.Rules, in bytes: with more, a letter is that of all flows.
	maxRulesSize = 16 << 10
	// maxDecisionsSize bounds, in bytes, the reasons of all decisions on an artifact, and likewise their rules.
	maxDecisionsSize = 64 << 10
	// maxFault bounds Reason.Fault, in characters: it may quote a condition.
	maxFault = 200
)

// outcomeLetter is how an outcome is written in Decision.Rules.
type outcomeLetter struct {
	letter  byte
	outcome policy.Outcome
}

// outcomes has those that fail after the others.
var outcomes = []outcomeLetter{
	{'s', policy.Satisfied},
	{'i', policy.NotApplicable},
	{'p', policy.MissingProvenance},
	{'n', policy.NoProvenance},
	{'t', policy.NonCompliantInTrail},
	{'m', policy.MissingAttestation},
	{'c', policy.NonCompliantAttestation},
}

// decisionSpace is what is left for the decisions on one artifact, in bytes.
type decisionSpace struct{ rules, reasons int }

// newDecision keeps what an evaluation has come to.
func newDecision(evaluation policy.Evaluation, space *decisionSpace) Decision {
	var decision Decision
	words := make([]string, 0, len(evaluation))
	size, most := 0, min(maxRulesSize, space.rules)
	for number, rule := range evaluation {
		word := letters(rule.Resolutions)
		if size += len(word) + 1; size > most {
			word = worst(word)
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

// letters writes resolutions down: one letter if all are alike.
func letters(resolutions []policy.Resolution) string {
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

// worst is the one letter of all flows where there are too many letters.
func worst(word string) string {
	for _, one := range slices.Backward(outcomes) {
		if strings.IndexByte(word, one.letter) >= 0 {
			return string(one.letter)
		}
	}
	return word
}

// Evaluation returns what was kept of the evaluation, for an artifact with so many origins.
func (d *Decision) Evaluation(origins int) policy.Evaluation {
	words := strings.Fields(d.Rules)
	evaluation := make(policy.Evaluation, len(words))
	for number, word := range words {
		if len(word) > max(origins, 1) { // a snapshot may leave out origins of an artifact
			word = worst(word)
		}
		if origins == 0 {
			evaluation[number].Resolutions = []policy.Resolution{d.resolution(number, policy.NoFlow, word[0])}
			continue
		}
		resolutions := make([]policy.Resolution, 0, origins)
		for flow := range origins {
			// Of a single letter, the last is the first.
			resolutions = append(resolutions, d.resolution(number, flow, word[min(flow, len(word)-1)]))
		}
		evaluation[number].Resolutions = resolutions
	}
	return evaluation
}

func (d *Decision) resolution(rule, flow int, letter byte) policy.Resolution {
	resolution := policy.Resolution{Flow: flow}
	for _, one := range outcomes {
		if one.letter == letter {
			resolution.Outcome = one.outcome
		}
	}
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

// maxFailures is how many failures a deployment keeps, and maxFailure how long each is before its ellipsis, in bytes.
const (
	maxFailures = 10
	maxFailure  = 300 - len("…")
)

// failures say why policies of the snapshot refused an artifact.
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

// describe says what a resolution found that failed.
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

// size is the most that the decision takes up in JSON, in bytes.
func (d *Decision) size() int {
	size := decisionFrame + len(d.Rules)
	for i := range d.Reasons {
		size += d.Reasons[i].size()
	}
	return size
}

func (r *Reason) size() int {
	size := reasonFrame + textSize(r.Fault)
	if a := r.Attestation; a != nil {
		size += textSize(a.ID, a.Name, a.Type, a.Flow, a.Trail, a.Finding)
	}
	return size
}

// EvaluatePolicies evaluates an artifact by the applied policies. It complies if all of them say so, or if it is
// allowed by the environment; where no policy is applied, that is unknown (docs/semantics.md 9.4).
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
