package governance

import (
	"context"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
)

type getRunningCommitInput struct {
	resource.FlowPath
	Environment string `path:"env_name" doc:"Name of the environment."`
}

// RunningCommit is the commit of a flow's artifact that runs in an environment
// (docs/semantics.md 19.1).
type RunningCommit struct {
	CommitSHA *string `json:"commit_sha" nullable:"true"`
}

// getCommitOfRunningArtifact reads the commit of what a flow has built and an environment
// runs, null when it runs nothing of the flow or the commit is not known. Of several
// artifacts the one that was reported last counts.
func (h *handlers) getCommitOfRunningArtifact(ctx context.Context, in *getRunningCommitInput) (*server.Answer[RunningCommit], error) {
	org := server.Access(ctx)
	ref, err := h.ResolveFlow(ctx, org, in.Flow)
	if err != nil {
		return nil, err
	}
	environment, err := h.LoadEnvironment(ctx, org, in.Environment)
	if err != nil {
		return nil, err
	}
	fingerprints, err := h.runningIn(ctx, &environment)
	if err != nil {
		return nil, err
	}
	known, err := h.Provenances.GetMany(ctx, org.OrgID, fingerprints)
	if err != nil {
		return nil, err
	}
	var newest evidence.Origin
	for _, one := range known {
		if origin, ok := one.Flows[ref.ID]; ok && origin.Later(&newest) {
			newest = origin
		}
	}
	return server.Answered(RunningCommit{CommitSHA: resource.NilIfEmpty(newest.CommitSHA)}), nil
}

// runningIn returns the fingerprints that run in an environment by its latest snapshot. In a
// logical one runs what runs in its members.
func (h *handlers) runningIn(ctx context.Context, environment *evidence.Environment) ([]string, error) {
	ids := []string{environment.ID}
	if environment.Logical() {
		ids = environment.Active
	}
	heads, err := h.Heads.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	running, err := h.Running.In(ctx, ids)
	if err != nil {
		return nil, err
	}
	var fingerprints []string
	for _, one := range running {
		if one.Since <= heads[one.Environment].Last {
			fingerprints = append(fingerprints, one.Fingerprint)
		}
	}
	return resource.SortUnique(fingerprints), nil
}
