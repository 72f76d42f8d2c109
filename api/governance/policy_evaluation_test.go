package governance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"attestry/api/resource"
	"attestry/app/facts"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
	"attestry/storage/pipelines"
)

// unknownArtifacts are stores in which no flow knows an artifact.
type unknownArtifacts struct {
	Provenances
	Facts
	Allowlist
	// read is called for each part of the artifacts.
	read func()
}

func (u unknownArtifacts) GetMany(context.Context, string, []string) ([]pipelines.Provenance, error) {
	u.read()
	return nil, nil
}

func (unknownArtifacts) Load(_ context.Context, _ string, subjects []facts.Subject, _ []string) ([]facts.Artifact, error) {
	loaded := make([]facts.Artifact, len(subjects))
	for i := range subjects {
		loaded[i].Facts = policy.Facts{Name: subjects[i].Name, Fingerprint: subjects[i].Fingerprint}
	}
	return loaded, nil
}

func (unknownArtifacts) Of(context.Context, string, []string) (map[string]evidence.Allowance, error) {
	return nil, nil
}

// newDryRun is that of a policy of so many rules, all of which fail.
func newDryRun(t *testing.T, rules int) *dryRun {
	t.Helper()
	parsed, err := policy.Parse([]byte("_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n  attestations:\n" +
		strings.Repeat("    - {type: snyk}\n", rules)))
	if err != nil {
		t.Fatal(err)
	}
	run := &dryRun{environment: evidence.Environment{ID: "e"}, reasons: resource.NewReasons(maxEvaluationReasons)}
	run.applied = []policy.Applied{{Reference: policy.Reference{Name: "p"}, Policy: &parsed}}
	run.file = resource.NewPolicyViews(run.applied)[0]
	return run
}

func manyArtifacts(n int) []snapshot.Artifact {
	artifacts := make([]snapshot.Artifact, n)
	for i := range artifacts {
		artifacts[i] = snapshot.Artifact{Fingerprint: fmt.Sprintf("%064x", i), Name: "web", Compliant: new(true)}
	}
	return artifacts
}

func newHandlers(read func()) *handlers {
	stores := unknownArtifacts{read: read}
	return &handlers{Base: &resource.Base{}, Stores: Stores{Provenances: stores, Facts: stores, Allowlist: stores}}
}

func TestAnswerOfADryRunIsBounded(t *testing.T) {
	const artifacts = 40_000
	run := newDryRun(t, 300)
	shown, leftOut, err := newHandlers(func() {}).evaluateAll(t.Context(), run, manyArtifacts(artifacts))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(shown)
	if err != nil || len(encoded) > maxEvaluationReasons+maxEvaluated {
		t.Errorf("the answer has %d bytes: %v", len(encoded), err)
	}
	if len(shown) == 0 || leftOut["became-non-compliant"] == 0 || len(shown)+leftOut["became-non-compliant"] != artifacts {
		t.Errorf("%d artifacts are shown, %v left out", len(shown), leftOut)
	}
	for i := range shown {
		one := &shown[i]
		if one.Then || one.Evaluation.Status != evidence.NonCompliant || one.Change != "became-non-compliant" {
			t.Fatalf("artifact %d: %+v", i, one)
		}
		if one.LeftOut+len(one.Explanation) != 300 || one.Evaluation.RulesLeftOut+len(one.Evaluation.RuleEvaluations) != 302 {
			t.Fatalf("artifact %d: %d sentences are left out, %d shown", i, one.LeftOut, len(one.Explanation))
		}
	}
}

func TestDryRunEndsWithTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	parts := 0
	h := newHandlers(func() {
		if parts++; parts == 2 {
			cancel()
		}
	})
	if _, _, err := h.evaluateAll(ctx, newDryRun(t, 10), manyArtifacts(10*artifactsPerRead)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if parts != 2 {
		t.Errorf("%d parts were read", parts)
	}
}

func TestDryRunsOfAnOrganizationAreFew(t *testing.T) {
	var d dryRuns
	var leave func()
	for range maxDryRuns {
		var err error
		if leave, err = d.enter("a"); err != nil {
			t.Fatal(err)
		}
	}
	var refused *evidence.Error
	if _, err := d.enter("a"); !errors.As(err, &refused) || refused.Code != evidence.Unavailable || refused.RetryAfter <= 0 {
		t.Errorf("one more: %v", err)
	}
	if _, err := d.enter("b"); err != nil {
		t.Errorf("another organization: %v", err)
	}
	leave()
	if _, err := d.enter("a"); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}
