package governance

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"attestry/api/assessment"
	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
	"attestry/storage/cache"
)

// EvaluatePolicyInput is the data of evaluate_policy (docs/semantics.md 18.9).
type EvaluatePolicyInput struct {
	EnvironmentName string `json:"environment_name,omitempty" doc:"Evaluates what runs in the environment now."`
	Fingerprint     string `json:"fingerprint,omitempty" doc:"Evaluates one artifact instead."`
	PolicyName      string `json:"policy_name,omitempty" doc:"The policy that the file is to replace; by default it is added to those that are attached."`
}

// PolicyEvaluationResponse is the result of a policy's dry run.
type PolicyEvaluationResponse struct {
	Environment      *string                            `json:"environment" nullable:"true"`
	Artifacts        jsonstream.List[EvaluatedArtifact] `json:"artifacts"`
	ArtifactsLeftOut map[string]int                     `json:"artifacts_left_out,omitempty" doc:"How many artifacts are not shown, as there are too many, by what would change."`
}

// EvaluatedArtifact is the result of a policy's dry run for one artifact.
type EvaluatedArtifact struct {
	Fingerprint string                    `json:"fingerprint"`
	Name        string                    `json:"name"`
	Evaluation  resource.PolicyEvaluation `json:"evaluation" doc:"That of the file; its version is 0."`
	Explanation []resource.Explanation    `json:"explanation" doc:"Why the file's policy is not fulfilled; empty if it is."`
	LeftOut     int                       `json:"explanation_left_out,omitempty" doc:"How many sentences are not shown, as there are too many."`
	Now         *bool                     `json:"compliant_now" nullable:"true" doc:"By the latest snapshot; null where no policy is applied."`
	Then        bool                      `json:"compliant_then" doc:"If the policy were attached."`
	Change      string                    `json:"change" enum:"became-compliant,became-non-compliant,unchanged"`
}

// dryRun is the evaluation of artifacts by a policy that is not stored.
type dryRun struct {
	org evidence.OrgAccess
	// Basis has the policies to apply; the last is the file's. Its environment is zero for a single artifact.
	assessment.Basis
	file    resource.PolicyView
	reasons *resource.Reasons
}

const (
	// maxEvaluationReasons bounds the reasons in the answer, and maxEvaluated everything else, in bytes.
	maxEvaluationReasons = 16 << 20
	maxEvaluated         = 16 << 20
	// evaluatedFrame is the approximate size of an artifact in the answer without its name and reasons, in bytes.
	evaluatedFrame = 512
)

// evaluatePolicy evaluates a policy without storing it. Its facts may be newer than the latest snapshot's.
func (h *handlers) evaluatePolicy(ctx context.Context, _ *server.OrgPath, f *server.Form[EvaluatePolicyInput]) (*server.Answer[PolicyEvaluationResponse], error) {
	org := server.Access(ctx)
	done, err := h.dryRuns.start(org.OrgID)
	if err != nil {
		return nil, err
	}
	defer done()
	if (f.Data.EnvironmentName == "") == (f.Data.Fingerprint == "") {
		return nil, validation.Fault("environment_name", "Give either environment_name or fingerprint", f.Data.EnvironmentName)
	}
	var parsed *policy.Policy
	err = server.ReadFile(ctx, f.File, policy.MaxSize, func(content []byte) error {
		parsed, err = h.checkPolicy(ctx, f.Data.PolicyName, content)
		return err
	})
	if err != nil {
		return nil, err
	}
	if parsed == nil {
		return nil, policyFileRequired()
	}
	run := &dryRun{org: org, reasons: resource.NewReasons(maxEvaluationReasons)}
	artifacts := []snapshot.Artifact{{Reported: snapshot.Reported{Fingerprint: f.Data.Fingerprint}}}
	body := PolicyEvaluationResponse{}
	if f.Data.EnvironmentName != "" {
		if artifacts, err = h.loadRun(ctx, run, f.Data.EnvironmentName, f.Data.PolicyName); err != nil {
			return nil, err
		}
		body.Environment = &run.Environment.Name
	}
	run.Applied = append(run.Applied, policy.Applied{Reference: policy.Reference{Name: cmp.Or(f.Data.PolicyName, policyField)}, Policy: parsed})
	run.file = resource.NewPolicyViews(run.Applied[len(run.Applied)-1:])[0]
	evaluated, leftOut, err := h.evaluateAll(ctx, run, artifacts)
	body.Artifacts, body.ArtifactsLeftOut = jsonstream.ListOf(evaluated), leftOut
	return server.Answered(body), err
}

// loadRun reads the artifacts of an environment's last snapshot, and its policies except the replaced one.
func (h *handlers) loadRun(ctx context.Context, run *dryRun, name, replaced string) (artifacts []snapshot.Artifact, err error) {
	if run.Environment, err = h.LoadEnvironment(ctx, name); err != nil {
		return nil, err
	}
	if run.Environment.Logical() {
		return nil, validation.Fault("environment_name", "Only physical environments have policies", name)
	}
	if replaced != "" && !slices.Contains(run.Environment.Policies, replaced) {
		return nil, validation.Fault("policy_name", "The policy must be attached to environment '"+run.Environment.Name+"'", replaced)
	}
	attached := slices.DeleteFunc(slices.Clone(run.Environment.Policies), func(one string) bool { return one == replaced })
	if run.Applied, err = h.Policies.Latest(ctx, run.org.OrgID, attached); err != nil {
		return nil, err
	}
	last, err := h.Snapshots.Last(ctx, run.Environment.ID)
	if err != nil || last.Number == 0 {
		return nil, err
	}
	return h.Snapshots.Artifacts(ctx, &last)
}

// artifactsPerRead bounds the artifacts whose facts are in memory at once.
const artifactsPerRead = 500

// evaluateAll evaluates artifacts before the answer is sent, so that the request's deadline and the memory budget bound
// it. Those that exceed maxEvaluated are evaluated and counted, but not shown.
func (h *handlers) evaluateAll(ctx context.Context, run *dryRun, artifacts []snapshot.Artifact) (shown []EvaluatedArtifact, leftOut map[string]int, err error) {
	memory := server.RequestOf(ctx).Memory
	mark, left := memory.Mark(), maxEvaluated
	for part := range slices.Chunk(artifacts, artifactsPerRead) {
		before := run.reasons.Left()
		evaluated, err := h.evaluateSome(ctx, run, part)
		if err != nil {
			return nil, nil, err
		}
		used := before - run.reasons.Left()
		for _, one := range evaluated {
			size := evaluatedFrame + len(one.Name)
			if left < size {
				if leftOut == nil {
					leftOut = map[string]int{}
				}
				leftOut[one.Change]++
				continue
			}
			left, used = left-size, used+size
			shown = append(shown, one)
		}
		memory.Rewind(mark)
		if err := memory.Take(int64(used)); err != nil {
			return nil, nil, err
		}
	}
	return shown, leftOut, nil
}

func (h *handlers) evaluateSome(ctx context.Context, run *dryRun, artifacts []snapshot.Artifact) ([]EvaluatedArtifact, error) {
	images := resource.Map(artifacts, func(a *snapshot.Artifact) assessment.Image {
		return assessment.Image{Fingerprint: a.Fingerprint, Name: a.Name, Running: run.Environment.ID != ""}
	})
	loaded, err := assessment.Load(ctx, h.Base, run.org.OrgID, &run.Basis, images)
	if err != nil {
		return nil, err
	}
	evaluated := make([]EvaluatedArtifact, 0, len(artifacts))
	for i, one := range loaded {
		if run.Environment.ID == "" && len(one.Origins) == 0 {
			return nil, artifactNotFound(ctx, artifacts[i].Fingerprint)
		}
		if err := one.Evaluate(ctx); err != nil {
			return nil, err
		}
		evaluated = append(evaluated, h.showEvaluated(run, &artifacts[i], one))
		loaded[i] = nil // release its evaluations
	}
	return evaluated, nil
}

func (h *handlers) showEvaluated(run *dryRun, artifact *snapshot.Artifact, assessed *assessment.Assessment) EvaluatedArtifact {
	facts, evaluation := &assessed.Artifact.Facts, assessed.Evaluations[len(assessed.Evaluations)-1]
	shown := EvaluatedArtifact{
		Fingerprint: artifact.Fingerprint, Name: facts.Name, Now: artifact.Compliant, Then: assessed.Compliant(), Change: "unchanged",
		Evaluation: run.file.Show(evaluation, facts.Flows, run.reasons.List()), Explanation: []resource.Explanation{},
	}
	var explained []resource.Explanation
	explained, shown.LeftOut = resource.Explain(h.Links, run.org, &run.file.Applied, evaluation, facts, true, run.reasons.List())
	shown.Explanation = append(shown.Explanation, explained...)
	switch {
	case shown.Now != nil && *shown.Now == shown.Then:
	case shown.Then:
		shown.Change = string(snapshot.BecameCompliant)
	default:
		shown.Change = string(snapshot.BecameNonCompliant)
	}
	return shown
}

// maxDryRuns bounds the concurrent dry runs of an organization. Each may run until the request's deadline.
const maxDryRuns = 2

// dryRuns counts the running dry runs by organization.
type dryRuns struct{ cache.Shared[atomic.Int32] }

func newDryRuns() dryRuns {
	return dryRuns{cache.NewShared(func() *atomic.Int32 { return new(atomic.Int32) })}
}

// start counts a dry run until done is called. It returns evidence.Busy if there are too many.
func (d dryRuns) start(org string) (done func(), err error) {
	running, release := d.Use(org)
	done = func() {
		running.Add(-1)
		release()
	}
	if running.Add(1) > maxDryRuns {
		done()
		return nil, evidence.Busy("Too many evaluations of this organization are under way, please try again.")
	}
	return done, nil
}
