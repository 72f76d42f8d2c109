package attestations

import (
	"context"
	"encoding/json"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/attestation"
)

// verdict is the result of judging a body.
type verdict struct {
	base      *resource.AttestationBase
	kind      string
	compliant bool
	// payload holds the members that only this type has.
	payload payload
	version int
	control string
	// failed names what failed, "" if the payload says so.
	failed string
}

// payload holds members of an attestation as they are in answers.
type payload map[string]json.RawMessage

// recordAttestation makes the operation of one type: judge the body, store the file, record the attestation.
func recordAttestation[T any](h *handlers, judge func(context.Context, *T) (verdict, error)) server.Binder {
	return server.WithForm("data_json", evidenceField, func(ctx context.Context, in *resource.NewTrailPath, f *server.Form[T]) (*server.TextAnswer, error) {
		judged, err := judge(ctx, f.Data)
		if err != nil {
			return nil, err
		}
		file, err := h.storeEvidence(ctx, f.File)
		if err != nil {
			return nil, err
		}
		scope := h.Scope(ctx, in.Flow, in.Trail)
		record, repo, err := h.recordOf(ctx, scope, judged)
		if err != nil {
			return nil, err
		}
		record.Evidence, record.Finding = file, attestation.Finding(&record, judged.failed)
		return server.Created(), h.Recorder.Attest(ctx, scope, record, repo)
	})
}

// recordOf returns the attestation of a verdict, and the repository of its body.
func (h *handlers) recordOf(ctx context.Context, scope recording.Scope, v verdict) (evidence.Attestation, *evidence.Repo, error) {
	sent, by := v.base, server.Principal(ctx)
	record := evidence.Attestation{
		ID: evidence.NewID(), Org: scope.Org, Trail: scope.Trail, Name: sent.AttestationName, Type: v.kind, Compliant: v.compliant,
		Fingerprint: evidence.ZeroIfNil(sent.ArtifactFingerprint), Targets: sent.TargetArtifacts,
		Commit: resource.CommitOf(sent.GitCommitInfo), OriginURL: sent.OriginURL, Description: sent.Description,
		ExternalURLs: sent.ExternalURLs.Evidence(), Annotations: sent.Annotations, UserData: sent.UserData.Sent(),
		Payload: v.payload, TypeVersion: v.version, Control: v.control,
		CreatedAt: scope.At, ReportedBy: scope.By, ReportedByID: scope.ByID,
		ByAccount: !by.IsUser(),
	}
	repo, err := h.ReportRepo(ctx, scope, sent.RepoInfo)
	if repo != nil {
		record.Repo = repo.ID
	}
	return record, repo, err
}

func (h *handlers) overrideAttestation(ctx context.Context, in *resource.NewTrailPath, body *OverrideAttestationPostInput) (*server.TextAnswer, error) {
	scope := h.Scope(ctx, in.Flow, in.Trail)
	record, repo, err := h.recordOf(ctx, scope, verdict{
		base: &body.AttestationBase, kind: string(body.OriginalAttestationType), compliant: body.NewComplianceStatus,
	})
	if err != nil {
		return nil, err
	}
	record.Override = &evidence.Override{Reason: body.Reason}
	record.Finding = attestation.Finding(&record, "")
	return server.OK(), h.Recorder.Override(ctx, scope, record, repo)
}
