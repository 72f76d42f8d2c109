package packages

import (
	"context"
	"net/url"
	"strconv"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/audit"
)

// subject is the subject of a package, with the filename and the address of its download.
type subject struct {
	audit.Assembly
	filename string
	href     string
}

// newSubject returns the subject of an assembly of an organization. key identifies it among those of its kind.
func newSubject(org evidence.OrgAccess, of audit.Assembly, key ...string) *subject {
	of.ID, of.Org, of.OrgName = audit.AssemblyID(of.Kind, org.OrgID, key...), org.OrgID, org.OrgName
	return &subject{Assembly: of}
}

// ArtifactPath is the path of an operation on an artifact of a flow.
type ArtifactPath struct {
	resource.FlowPath
	Fingerprint string `path:"fingerprint" pattern:"^[a-f0-9]{5,64}$" doc:"SHA-256 of the artifact, or the beginning of it."`
}

// Ref is the whole path.
func (p ArtifactPath) Ref() *ArtifactPath { return &p }

func (h *handlers) trailSubject(ctx context.Context, in *resource.TrailPath) (*subject, error) {
	org := server.Access(ctx)
	trail, err := h.LoadTrail(ctx, in)
	if evidence.CodeOf(err) == evidence.NotFound {
		return nil, evidence.NewError(evidence.NotFound, "Flow or trail not found")
	}
	if err != nil {
		return nil, err
	}
	made := newSubject(org, audit.Assembly{Kind: audit.OfTrail, Flow: trail.Flow, Trail: trail.Name}, trail.Key())
	made.filename, made.href = in.Flow+"-"+trail.Name, h.Links.TrailSelf(org.OrgName, in.Flow, trail.Name)
	return made, nil
}

func (h *handlers) artifactSubject(ctx context.Context, in *ArtifactPath) (*subject, error) {
	org := server.Access(ctx)
	flow, err := h.Flows.Resolve(ctx, org.OrgID, in.Flow)
	if err != nil {
		return nil, resource.NotFound(err, "Flow not found")
	}
	record, err := h.Artifacts.Latest(ctx, org.OrgID, flow.ID, "", in.Fingerprint)
	if err != nil {
		return nil, resource.ArtifactNotFound(ctx, in.Flow, in.Fingerprint, err)
	}
	made := newSubject(org, audit.Assembly{Kind: audit.OfArtifact, Flow: flow.ID, Fingerprint: record.Fingerprint}, flow.ID, record.Fingerprint)
	made.filename, made.href = in.Flow+"-"+record.Fingerprint[:12], h.Links.ArtifactPackage(org.OrgName, in.Flow, record.Fingerprint)
	return made, nil
}

func (h *handlers) attestationSubject(ctx context.Context, in *resource.AttestationPath) (*subject, error) {
	org := server.Access(ctx)
	found, err := h.LoadAttestation(ctx, in)
	if err != nil {
		return nil, err
	}
	made := newSubject(org, audit.Assembly{Kind: audit.OfAttestation, Flow: found.Flow, Trail: found.Trail, Attestation: found.ID}, found.ID)
	made.filename = in.Flow + "-" + found.Trail + "-" + found.Name
	made.href = h.Links.AttestationPackage(org.OrgName, in.Flow, found.Trail, found.ID)
	return made, nil
}

// BundlePath is the path of an operation on a bundle of an audit, with the sample in it.
type BundlePath struct {
	resource.AuditPath
	resource.SampleQuery
}

// Ref is the whole path.
func (p BundlePath) Ref() *BundlePath { return &p }

// bundleSubject returns the subject of an audit's bundle. It is a Conflict if the period has not ended.
func (h *handlers) bundleSubject(ctx context.Context, in *BundlePath) (*subject, error) {
	org := server.Access(ctx)
	draw, err := in.Draw()
	if err != nil {
		return nil, err
	}
	found, err := h.LoadPeriod(ctx, in.Audit)
	if err != nil {
		return nil, err
	}
	if found.Open(evidence.Seconds(h.Clock())) {
		return nil, evidence.Errorf(evidence.Conflict, "Audit '%s' is open until %s, and has no bundle before", in.Audit, *resource.ISOTime(found.To))
	}
	query := url.Values{"seed": {draw.Seed}, "size": {strconv.Itoa(draw.Size)}}
	if draw.By != "" {
		query.Set("by", in.By)
	}
	sample := evidence.SHA256([]byte(query.Encode()))
	made := newSubject(org, audit.Assembly{Kind: audit.OfPeriod, Period: in.Audit, Draw: &draw}, in.Audit, sample)
	made.filename, made.href = in.Audit, h.Links.AuditSelf(org.OrgName, in.Audit)+"/bundle?"+query.Encode()
	return made, nil
}
