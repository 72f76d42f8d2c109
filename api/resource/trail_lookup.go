package resource

import (
	"context"
	"fmt"

	"attestry/api/server"
	"attestry/app/recording"
	"attestry/evidence"
)

// TrailPath is the path of an operation on a trail.
type TrailPath struct {
	FlowPath
	Trail string `path:"trail_name" doc:"Name of the trail."`
}

// LoadTrail reads the trail of a path, or answers in the contract's words.
func (b *Base) LoadTrail(ctx context.Context, org evidence.OrgAccess, in *TrailPath) (evidence.Trail, error) {
	ref, err := b.ResolveFlow(ctx, org, in.Flow)
	if err != nil {
		return evidence.Trail{}, err
	}
	trail, err := b.Trails.Get(ctx, ref.ID, in.Trail)
	return trail, NotFound(err, "Trail with name '%s' does not exist for Organization '%s' and Flow '%s'", in.Trail, org.OrgName, in.Flow)
}

// AttestationNotFound is the answer for an attestation that is not in the trail of a path.
func AttestationNotFound(org evidence.OrgAccess, in *TrailPath, id string) error {
	return evidence.NewError(evidence.NotFound, fmt.Sprintf(
		"Attestation with id '%s' does not exist in trail '%s' of flow '%s' belonging to organization '%s'", id, in.Trail, in.Flow, org.OrgName))
}

// Scope says who reports what where, now.
func (b *Base) Scope(ctx context.Context, flow, trail string) recording.Scope {
	org, who := server.Access(ctx), server.Principal(ctx)
	return recording.Scope{
		Org: org.OrgID, OrgName: org.OrgName, Flow: flow, Trail: trail,
		By: who.Name, ByID: who.UserID, At: evidence.Seconds(b.Clock()),
	}
}

// ReportRepo notes the repository that a request names; nil when it names none.
func (b *Base) ReportRepo(ctx context.Context, scope recording.Scope, sent OrNull[RepoInfoPostInput]) (*evidence.Repo, error) {
	if sent.Value == nil {
		return nil, nil
	}
	repo, err := b.Repos.Report(ctx, scope.Org, sent.Value.Evidence(), scope.At)
	if err != nil || repo.ID == "" {
		return nil, err
	}
	return &repo, nil
}
