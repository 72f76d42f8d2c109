package governance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"attestry/api/assessment"
	"attestry/api/resource"
	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
)

// observedDocuments calls read when provenances are read, which happens once for each part of the artifacts.
type observedDocuments struct {
	storage.Documents
	read func()
}

func (o observedDocuments) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	if schema.Name == "provenance" {
		o.read()
	}
	return o.Documents.GetMany(ctx, schema, ids)
}

// newDryRun makes a dry run of a policy with so many rules, all of which fail.
func newDryRun(t *testing.T, rules int) *dryRun {
	t.Helper()
	parsed, err := policy.Parse([]byte("_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n  attestations:\n" +
		strings.Repeat("    - {type: snyk}\n", rules)))
	if err != nil {
		t.Fatal(err)
	}
	run := &dryRun{Basis: assessment.Basis{Environment: evidence.Environment{ID: "e"}}, reasons: resource.NewReasons(maxEvaluationReasons)}
	run.Applied = []policy.Applied{{Reference: policy.Reference{Name: "p"}, Policy: &parsed}}
	run.file = resource.NewPolicyViews(run.Applied)[0]
	return run
}

func manyArtifacts(n int) []snapshot.Artifact {
	artifacts := make([]snapshot.Artifact, n)
	for i := range artifacts {
		artifacts[i] = snapshot.Artifact{Reported: snapshot.Reported{Fingerprint: fmt.Sprintf("%064x", i), Name: "web"}, Compliant: new(true)}
	}
	return artifacts
}

// newHandlers makes handlers with an empty database, in which no flow knows an artifact.
func newHandlers(t *testing.T, read func()) *handlers {
	t.Helper()
	docs := observedDocuments{pebbletest.Open(t, t.TempDir(), app.Schemas()), read}
	store := app.NewStore(docs, nil, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Tenancy.Close)
	return &handlers{Base: &resource.Base{Store: store, Clock: time.Now}}
}

func TestAnswerOfADryRunIsBounded(t *testing.T) {
	const artifacts = 40_000
	run := newDryRun(t, 300)
	shown, leftOut, err := newHandlers(t, func() {}).evaluateAll(t.Context(), run, manyArtifacts(artifacts))
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
	h := newHandlers(t, func() {
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

func TestDryRunsOfAnOrganizationAreLimited(t *testing.T) {
	d := newDryRuns()
	var done func()
	for range maxDryRuns {
		var err error
		if done, err = d.start("a"); err != nil {
			t.Fatal(err)
		}
	}
	var refused *evidence.Error
	if _, err := d.start("a"); !errors.As(err, &refused) || refused.Code != evidence.Unavailable || refused.RetryAfter <= 0 {
		t.Errorf("one more: %v", err)
	}
	if _, err := d.start("b"); err != nil {
		t.Errorf("another organization: %v", err)
	}
	done()
	if _, err := d.start("a"); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}
