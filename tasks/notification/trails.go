package notification

import (
	"context"
	"errors"
	"fmt"

	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/storage"
)

// ofTrail tells of something that happened to a trail.
func (w *writer) ofTrail(ctx context.Context, event *evidence.TrailEvent) (noticeSet, error) {
	flows, err := w.store.Flows.Names(ctx, w.org, []string{event.Flow})
	if err != nil {
		return noticeSet{}, err
	}
	flow, ok := flows[event.Flow]
	if !ok || flow.Archived {
		return noticeSet{}, nil
	}
	trail, err := w.store.Trails.Collection.Get(ctx, event.Trail)
	if errors.Is(err, storage.ErrNotFound) {
		return noticeSet{}, nil
	}
	if err != nil {
		return noticeSet{}, err
	}
	notice := w.trailNotice(flow.Name, &trail)
	switch data := event.Data.(type) {
	case *evidence.TrailBeginData:
		return w.trailEvent(notice, notification.EventTrailStarted, fmt.Sprintf("Trail %s of flow %s was begun", trail.Name, flow.Name)), nil
	case *evidence.ArtifactReportData:
		notice.Artifact, err = w.record(ctx, data.Record, data.Fingerprint, data.Filename)
		return w.trailEvent(notice, notification.EventArtifactReported,
			fmt.Sprintf("Artifact %s was reported to trail %s of flow %s", data.Filename, trail.Name, flow.Name)), err
	case *evidence.AttestationReportData:
		w.attestation(&notice, data)
		return w.trailEvent(notice, notification.EventAttestation, fmt.Sprintf("Attestation %s of type %s was reported to trail %s of flow %s: %s",
			data.Name, data.Type, trail.Name, flow.Name, verdict(data.Compliant))), nil
	case *evidence.ApprovalData:
		notice.Approval = &notification.NoticeApproval{
			Number: data.Number, State: data.State, Reviewer: data.Reviewer, Fingerprint: data.Fingerprint,
		}
		notice.Artifact, err = w.knownArtifact(ctx, data.Fingerprint, "")
		return w.trailEvent(notice, notification.EventApproval,
			fmt.Sprintf("Approval %d of flow %s, for an artifact of trail %s, is %s", data.Number, flow.Name, trail.Name, statusOf(evidence.Status(data.State)))), err
	}
	return noticeSet{}, nil
}

// trailNotice begins a notice of an event in a trail, whose type and description are still unknown.
func (w *writer) trailNotice(flow string, trail *evidence.Trail) notification.Notice {
	notice := w.notice("", "")
	notice.Flow = flow
	notice.Link = w.links.Trail(w.orgName, flow, trail.Name)
	notice.Trail = &notification.NoticeTrail{
		Name: trail.Name, Status: statusOf(trail.Status), HTMLURL: notice.Link, APIURL: w.links.TrailSelf(w.orgName, flow, trail.Name),
	}
	return notice
}

func (w *writer) trailEvent(notice notification.Notice, kind, description string) noticeSet {
	notice.EventType, notice.Description = kind, description
	return same(notice)
}

func (w *writer) attestation(notice *notification.Notice, data *evidence.AttestationReportData) {
	notice.Link = w.links.Attestation(w.orgName, notice.Flow, notice.Trail.Name, data.Attestation)
	notice.Attestation = &notification.NoticeAttestation{
		ID: data.Attestation, Name: data.Name, Type: data.Type, Status: verdict(data.Compliant),
		Artifact: data.Target, Fingerprint: data.Fingerprint, HTMLURL: notice.Link,
		APIURL: w.links.AttestationSelf(w.orgName, notice.Flow, notice.Trail.Name, data.Name),
	}
}

// knownArtifact is an artifact with where the flow that knew it first has it from; without a
// name it has the one that was reported.
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

// record is an artifact with where it comes from by a record, given by its id.
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
	if shown.Name == "" {
		shown.Name = record.Filename
	}
	flow := flows[record.Flow].Name
	shown.Provenance = &notification.NoticeProvenance{
		Flow: flow, Status: statusOf(evaluated[0].Status), Commit: record.CommitSHA, CommitURL: record.CommitURL,
		HTMLURL: w.links.Artifact(w.orgName, flow, fingerprint, record.ID), APIURL: w.links.ArtifactSelf(w.orgName, flow, fingerprint),
		BuildURL: record.BuildURL,
	}
	return shown, nil
}
