package notification

import (
	"cmp"
	"context"
	"fmt"

	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/storage"
)

func (w *writer) ofTrail(ctx context.Context, event *evidence.TrailEvent) (noticeSet, error) {
	notice, err := w.trailNotice(ctx, event)
	if err != nil || notice == nil {
		return noticeSet{}, err
	}
	switch data := event.Data.(type) {
	case *evidence.TrailBeginData:
		notice.EventType = notification.EventTrailStarted
		notice.Description = fmt.Sprintf("Trail %s of flow %s was begun", notice.Trail.Name, notice.Flow)
	case *evidence.ArtifactReportData:
		err = w.artifactReported(ctx, notice, data)
	case *evidence.AttestationReportData:
		err = w.attestationReported(ctx, notice, data)
	case *evidence.ApprovalData:
		err = w.approvalReported(ctx, notice, data)
	default:
		return noticeSet{}, nil
	}
	return same(*notice), err
}

// trailNotice returns a notice of an event in a trail, without type and description. It returns
// nil if the flow is archived, or if the flow or the trail does not exist.
func (w *writer) trailNotice(ctx context.Context, event *evidence.TrailEvent) (*notification.Notice, error) {
	flows, err := w.store.Flows.Names(ctx, w.org, []string{event.Flow})
	if err != nil {
		return nil, err
	}
	flow, ok := flows[event.Flow]
	if !ok || flow.Archived {
		return nil, nil
	}
	trail, err := w.store.Trails.Collection.Get(ctx, event.Trail)
	if err != nil {
		return nil, storage.IgnoreMissing(err)
	}
	notice := w.notice("", "")
	notice.Flow = flow.Name
	notice.Link = w.links.Trail(w.orgName, flow.Name, trail.Name)
	notice.Trail = &notification.NoticeTrail{
		Name: trail.Name, Status: statusOf(trail.Status), HTMLURL: notice.Link, APIURL: w.links.TrailSelf(w.orgName, flow.Name, trail.Name),
	}
	return &notice, nil
}

func (w *writer) artifactReported(ctx context.Context, notice *notification.Notice, data *evidence.ArtifactReportData) (err error) {
	notice.EventType = notification.EventArtifactReported
	notice.Description = fmt.Sprintf("Artifact %s was reported to trail %s of flow %s", data.Filename, notice.Trail.Name, notice.Flow)
	notice.Artifact, err = w.record(ctx, data.Record, data.Fingerprint, data.Filename)
	return err
}

func (w *writer) attestationReported(ctx context.Context, notice *notification.Notice, data *evidence.AttestationReportData) (err error) {
	notice.EventType = notification.EventAttestation
	notice.Description = fmt.Sprintf("Attestation %s of type %s was reported to trail %s of flow %s: %s",
		data.Name, data.Type, notice.Trail.Name, notice.Flow, evidence.Verdict(data.Compliant))
	notice.Link = w.links.Attestation(w.orgName, notice.Flow, notice.Trail.Name, data.Attestation)
	notice.Attestation = &notification.NoticeAttestation{
		ID: data.Attestation, Name: data.Name, Type: data.Type, Status: evidence.Verdict(data.Compliant),
		Artifact: data.Target, Fingerprint: data.Fingerprint, HTMLURL: notice.Link,
		APIURL: w.links.AttestationSelf(w.orgName, notice.Flow, notice.Trail.Name, data.Name),
	}
	if data.Finding != "" {
		notice.Details = []string{data.Finding}
	}
	if data.Fingerprint != "" {
		notice.Artifact, err = w.knownArtifact(ctx, data.Fingerprint, data.Filename)
	}
	return err
}

func (w *writer) approvalReported(ctx context.Context, notice *notification.Notice, data *evidence.ApprovalData) (err error) {
	notice.EventType = notification.EventApproval
	notice.Description = fmt.Sprintf("Approval %d of flow %s, for an artifact of trail %s, is %s",
		data.Number, notice.Flow, notice.Trail.Name, statusOf(evidence.Status(data.State)))
	notice.Approval = &notification.NoticeApproval{
		Number: data.Number, State: data.State, Reviewer: data.Reviewer, Fingerprint: data.Fingerprint,
	}
	notice.Artifact, err = w.knownArtifact(ctx, data.Fingerprint, "")
	return err
}

// knownArtifact returns an artifact with its origin in the first flow that reported it. name defaults to its name
// there.
func (w *writer) knownArtifact(ctx context.Context, fingerprint, name string) (*notification.NoticeArtifact, error) {
	known, err := w.store.Provenances.GetMany(ctx, w.org, []string{fingerprint})
	if err != nil {
		return nil, err
	}
	if len(known) == 0 {
		return &notification.NoticeArtifact{Name: name, Fingerprint: fingerprint}, nil
	}
	return w.record(ctx, known[0].Origins()[0].Record, fingerprint, name)
}

// record returns an artifact with its provenance from the record with an id.
func (w *writer) record(ctx context.Context, id, fingerprint, name string) (*notification.NoticeArtifact, error) {
	shown := &notification.NoticeArtifact{Name: name, Fingerprint: fingerprint}
	records, err := w.store.Artifacts.GetMany(ctx, []string{id})
	if err != nil || len(records) == 0 {
		return shown, err
	}
	evaluated, err := w.store.States.Evaluate(ctx, w.org, records, nil)
	if err != nil {
		return shown, err
	}
	record := &records[0]
	flows, err := w.store.Flows.Names(ctx, w.org, []string{record.Flow})
	if err != nil {
		return shown, err
	}
	shown.Name = cmp.Or(shown.Name, record.Filename)
	flow := flows[record.Flow].Name
	shown.Provenance = &notification.NoticeProvenance{
		Flow: flow, Status: statusOf(evaluated[0].Status), Commit: record.CommitSHA, CommitURL: record.CommitURL,
		HTMLURL: w.links.Artifact(w.orgName, flow, fingerprint, record.ID), APIURL: w.links.ArtifactSelf(w.orgName, flow, fingerprint),
		BuildURL: record.BuildURL,
	}
	return shown, nil
}
