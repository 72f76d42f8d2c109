package notification

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
)

// provenances has the data about artifacts that a snapshot does not keep.
type provenances struct {
	flows   map[string]evidence.Flow           // by id
	records map[string]evidence.ArtifactRecord // by id
	applied []policy.Applied
}

// provenances reads origins of artifacts and the policies: three commands, more beyond storage.MaxMany artifacts.
func (w *writer) provenances(ctx context.Context, artifacts []snapshot.Artifact, policies []policy.Reference) (*provenances, error) {
	var flows, records []string
	for i := range artifacts {
		for j := range artifacts[i].Origins {
			flows = append(flows, artifacts[i].Origins[j].Flow)
		}
		if len(artifacts[i].Origins) > 0 {
			records = append(records, artifacts[i].Origins[0].Record)
		}
	}
	p := &provenances{}
	var err error
	if p.flows, err = w.store.Flows.Names(ctx, w.org, evidence.Distinct(flows)); err != nil {
		return nil, err
	}
	found, err := w.store.Artifacts.GetMany(ctx, evidence.Distinct(records))
	if err != nil {
		return nil, err
	}
	p.records = evidence.ByKey(found, func(record *evidence.ArtifactRecord) string { return record.ID })
	p.applied, err = w.store.Policies.Applied(ctx, w.org, policies)
	return p, err
}

func (w *writer) artifact(artifact *snapshot.Artifact, p *provenances) *notification.NoticeArtifact {
	shown := &notification.NoticeArtifact{Name: artifact.Name, Fingerprint: artifact.Fingerprint}
	if len(artifact.Origins) == 0 {
		return shown
	}
	origin := &artifact.Origins[0]
	flow := p.flows[origin.Flow].Name
	shown.Provenance = &notification.NoticeProvenance{
		Flow: flow, Status: statusOf(origin.Status), Commit: origin.CommitSHA, CommitURL: origin.CommitURL,
		HTMLURL:  w.links.Artifact(w.orgName, flow, artifact.Fingerprint, origin.Record),
		APIURL:   w.links.ArtifactSelf(w.orgName, flow, artifact.Fingerprint),
		BuildURL: p.records[origin.Record].BuildURL,
	}
	return shown
}

// why explains in at most maxReasons sentences why a running artifact is not compliant. Do not call it for an artifact
// that has exited: its decisions may be of other policies.
func (p *provenances) why(artifact *snapshot.Artifact) []string {
	if artifact.Compliant == nil || *artifact.Compliant || len(artifact.Decisions) != len(p.applied) {
		return nil
	}
	names := evidence.Map(artifact.Origins, func(origin snapshot.Origin) string { return p.flows[origin.Flow].Name })
	facts := artifact.Facts(names)
	var reasons []string
	for i := range p.applied {
		for number, rule := range artifact.Decisions[i].Evaluation(len(artifact.Origins)) {
			for _, resolution := range rule.Resolutions {
				if resolution.Outcome.Failing() && len(reasons) < maxReasons {
					sentence := p.applied[i].Policy.Explain(number, resolution, &facts)
					reasons = append(reasons, sentence.Full()+" "+sentence.Remedy)
				}
			}
		}
	}
	return reasons
}
