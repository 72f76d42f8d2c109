package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"attestry/api/resource"
	"attestry/evidence"
)

// Cause is a reason why artifacts of a snapshot are not compliant: one text of one policy.
type Cause struct {
	// Text is the explanation, without the trail and the finding of an attestation.
	Text string
	// Policy is the name of the policy, "" for none.
	Policy string
	// Count is the number of artifacts. Artifacts are the first of them.
	Count     int
	Artifacts []CausedArtifact
	// last is the artifact that was counted last.
	last *Artifact
}

// CausedArtifact is an artifact with a cause. Finding and Remedy are "" if none is known.
type CausedArtifact struct {
	Name, Fingerprint, Link, Finding, Remedy string
}

// More is the number of artifacts that are not listed.
func (c *Cause) More() int { return c.Count - len(c.Artifacts) }

// Causes are the first maxCauses causes that were found.
type Causes struct {
	List []*Cause
	// Others is the number of failing artifacts with none of these causes.
	Others int
}

// add counts an artifact for each of its causes.
func (c *Causes) add(artifact *Artifact) {
	counted := false
	for i := range artifact.Explanation {
		if sentence := &artifact.Explanation[i]; sentence.Failing && c.addTo(sentence, artifact) {
			counted = true
		}
	}
	if !counted {
		c.Others++
	}
}

// addTo counts an artifact for the cause of a sentence. It reports false if there are maxCauses others.
func (c *Causes) addTo(sentence *resource.Explanation, artifact *Artifact) bool {
	text, policy := causeOf(sentence), evidence.ZeroIfNil(sentence.PolicyName)
	at := slices.IndexFunc(c.List, func(one *Cause) bool { return one.Text == text && one.Policy == policy })
	if at < 0 {
		if len(c.List) == maxCauses {
			return false
		}
		at = len(c.List)
		c.List = append(c.List, &Cause{Text: text, Policy: policy})
	}
	one := c.List[at]
	if one.last == artifact { // another rule has the same cause
		return true
	}
	one.last = artifact
	if one.Count++; len(one.Artifacts) < maxOfCause {
		one.Artifacts = append(one.Artifacts, CausedArtifact{artifact.Name, artifact.Fingerprint, artifact.Link, sentence.Finding, evidence.ZeroIfNil(sentence.Remedy)})
	}
	return true
}

// causeOf is the text of a sentence without its trail and finding.
func causeOf(s *resource.Explanation) string {
	if s.Cause == "missing_provenance" || s.Cause == "no_provenance" {
		return "No flow knows the artifact, so that nothing is known of it."
	}
	text := strings.TrimPrefix(s.Text, fmt.Sprintf("In trail '%s' of flow '%s' ", evidence.ZeroIfNil(s.TrailName), evidence.ZeroIfNil(s.FlowName)))
	if before, ok := strings.CutSuffix(text, ": "+strings.TrimRight(s.Finding, ".")+"."); ok && s.Finding != "" {
		text = before + "."
	}
	if text == "" {
		return s.Text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
