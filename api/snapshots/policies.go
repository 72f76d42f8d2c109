package snapshots

import (
	"context"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
	"attestry/links"
)

// AppliedPolicy is a policy that a snapshot applied (docs/semantics.md 11.3).
type AppliedPolicy struct {
	ID               string                           `json:"id"`
	Name             string                           `json:"name"`
	Version          int                              `json:"version"`
	PolicyDump       map[string]any                   `json:"policy_dump"`
	FailingArtifacts jsonstream.List[FailingArtifact] `json:"failing_artifacts"`
}

// FailingArtifact is an artifact that a policy finds not compliant.
type FailingArtifact struct {
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"`
}

// policyDecisions is what showing how policies evaluated artifacts takes beside them.
type policyDecisions struct {
	links   links.Links
	org     evidence.OrgAccess
	applied []resource.PolicyView
	// explain asks for explanations of what is not compliant.
	explain bool
	// reasons bounds what is said of all artifacts.
	reasons *resource.Reasons
}

// loadPolicies reads the versions of policies that a snapshot applied.
func (h *handlers) loadPolicies(ctx context.Context, org evidence.OrgAccess, s *loadedSnapshot, explain bool) (*policyDecisions, error) {
	applied, err := h.Policies.Applied(ctx, org.OrgID, s.Policies)
	return &policyDecisions{links: h.Links, org: org, applied: resource.NewPolicyViews(applied), explain: explain, reasons: resource.NewReasons(maxReasons)}, err
}

// showApplied shows the policies with those of the running artifacts that fail them.
func (d *policyDecisions) showApplied(artifacts []snapshot.Artifact) []AppliedPolicy {
	shown := make([]AppliedPolicy, 0, len(d.applied))
	for i, one := range d.applied {
		shown = append(shown, AppliedPolicy{
			ID: one.ID, Name: one.Name, Version: one.Version, PolicyDump: resource.PolicyDump(one.Policy), FailingArtifacts: failingArtifacts(artifacts, i),
		})
	}
	return shown
}

// maxReasons bounds what a snapshot says about why artifacts are compliant or not, in bytes.
const maxReasons = 64 << 20

// artifactsAtOnce is how many artifacts are looked at for those that fail a policy, before
// these are sent.
const artifactsAtOnce = 1000

// failingArtifacts lists the artifacts that fail the policy of a number, as they are sent: there
// may be as many for each policy.
func failingArtifacts(artifacts []snapshot.Artifact, number int) jsonstream.List[FailingArtifact] {
	return jsonstream.NewList(func(context.Context) ([]FailingArtifact, bool, error) {
		part := artifacts[:min(artifactsAtOnce, len(artifacts))]
		artifacts = artifacts[len(part):]
		var failing []FailingArtifact
		for i := range part {
			if one := &part[i]; number < len(one.Decisions) && !one.Decisions[number].Compliant() {
				failing = append(failing, FailingArtifact{Fingerprint: one.Fingerprint, Name: one.Name})
			}
		}
		return failing, len(artifacts) > 0, nil
	})
}

// show adds to an artifact what the policies said of it. An artifact that has exited shows
// nothing, as its decisions are those of other policies, perhaps.
func (d *policyDecisions) show(shown *SnapshotArtifact, one *shownArtifact) {
	artifact := &one.artifact
	if one.change.Type == snapshot.Exited || len(artifact.Decisions) != len(d.applied) {
		return
	}
	facts := artifact.Facts(resource.Map(shown.Flows, func(flow *SnapshotArtifactFlow) string { return flow.FlowName }))
	decisions, reasons, ofFlows, sentences := d.reasons.List(), d.reasons.List(), d.reasons.List(), d.reasons.List()
	for i := range d.applied {
		applied := &d.applied[i]
		evaluation := artifact.Decisions[i].Evaluation(len(artifact.Origins))
		decision := applied.Show(evaluation, facts.Flows, decisions)
		decision.DetailsLeftOut = artifact.Decisions[i].LeftOut
		shown.PolicyDecisions = append(shown.PolicyDecisions, decision)
		if *artifact.Compliant { // it may be on the allow list
			continue
		}
		shown.ReasonsLeftOut += applied.Failing(&shown.ReasonsForIncompliance, evaluation, facts.Flows, policy.NoFlow, reasons)
		for number := range shown.Flows {
			flow := &shown.Flows[number]
			flow.FlowReasonsLeftOut += applied.Failing(&flow.FlowReasonsForNonCompliance, evaluation, facts.Flows, number, ofFlows)
		}
		if d.explain {
			explained, leftOut := resource.Explain(d.links, d.org, &applied.Applied, evaluation, &facts, true, sentences)
			shown.Explanation = append(shown.Explanation, explained...)
			shown.ExplanationLeftOut += leftOut
		}
	}
}
