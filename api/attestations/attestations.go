package attestations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/storage"
)

// attestationRoutes are those that record attestations.
func (h *handlers) attestationRoutes() []server.Route {
	return []server.Route{
		attestationRoute("custom", "Record an attestation of a custom type", recordAttestation(h, h.evaluateCustom)),
		attestationRoute("generic", "Record a generic attestation", recordAttestation(h, h.evaluateGeneric)),
		attestationRoute("jira", "Record which Jira issues are referred to", recordAttestation(h, h.evaluateJira)),
		attestationRoute("junit", "Record the results of JUnit tests", recordAttestation(h, h.evaluateJUnit)),
		attestationRoute("pull_request", "Record the pull requests of a commit", recordAttestation(h, h.evaluatePullRequests)),
		attestationRoute("snyk", "Record the results of a Snyk scan", recordAttestation(h, h.evaluateSnyk)),
		attestationRoute("sonar", "Record the results of a Sonar analysis", recordAttestation(h, h.evaluateSonar)),
		attestationRoute("system", "Record an attestation of a built-in, versioned type", recordAttestation(h, h.evaluateSystem)),
		{
			Method: http.MethodPost, Path: "/attestations/{org}/{flow_name}/trail/{trail_name}/override",
			OperationID: "post_override_attestation", Tag: "Attestation", Summary: "Override the verdict of an attestation",
			MinRole: evidence.Member, Serve: server.WithBody(h.overrideAttestation),
		},
	}
}

func attestationRoute(kind, summary string, serve server.Binder) server.Route {
	return server.Route{
		Method: http.MethodPost, Path: "/attestations/{org}/{flow_name}/trail/{trail_name}/" + kind,
		OperationID: "post_" + kind + "_attestation", Tag: "Attestation", Summary: summary,
		MinRole: evidence.Member, Statuses: []int{http.StatusCreated}, Serve: serve,
	}
}

// verdict is what a body comes to, beside what all attestations carry.
type verdict struct {
	base      *resource.AttestationBase
	kind      string
	compliant bool
	// payload holds the members that answers show of this type alone.
	payload payload
	version int
	control string
}

// payload holds members of an attestation as answers show them.
type payload map[string]json.RawMessage

// with adds a member.
func (p payload) with(name string, value any) (payload, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	p[name] = encoded
	return p, nil
}

// recordAttestation makes the operation that records attestations of one type: the body is
// judged, its file stored, and then all is recorded together.
func recordAttestation[T any](h *handlers, judge func(context.Context, *T) (verdict, error)) server.Binder {
	return server.WithForm("data_json", []string{evidenceField}, func(ctx context.Context, in *resource.NewTrailPath, f *server.Form[T]) (*server.TextAnswer, error) {
		judged, err := judge(ctx, f.Data)
		if err != nil {
			return nil, err
		}
		file, err := h.storeEvidence(ctx, f.Files)
		if err != nil {
			return nil, err
		}
		scope := h.Scope(ctx, in.Flow, in.Trail)
		record, repo, err := h.recordOf(ctx, scope, judged)
		if err != nil {
			return nil, err
		}
		record.Evidence = file
		if err := h.Recorder.Attest(ctx, scope, record, repo); err != nil {
			return nil, err
		}
		return server.Created(), nil
	})
}

// recordOf is the attestation that a verdict makes, with the repository that its
// body names.
func (h *handlers) recordOf(ctx context.Context, scope recording.Scope, v verdict) (evidence.Attestation, *evidence.Repo, error) {
	sent := v.base
	record := evidence.Attestation{
		ID:           evidence.NewID(),
		Org:          scope.Org,
		Trail:        scope.Trail,
		Name:         sent.AttestationName,
		Type:         v.kind,
		Compliant:    v.compliant,
		Fingerprint:  resource.ZeroIfNil(sent.ArtifactFingerprint),
		Targets:      sent.TargetArtifacts,
		Commit:       resource.CommitOf(sent.GitCommitInfo),
		OriginURL:    sent.OriginURL,
		Description:  sent.Description,
		ExternalURLs: sent.ExternalURLs.Evidence(),
		Annotations:  sent.Annotations,
		UserData:     sent.UserData.Sent(),
		Payload:      v.payload,
		TypeVersion:  v.version,
		Control:      v.control,
		CreatedAt:    scope.At,
		ReportedBy:   scope.By,
		ReportedByID: scope.ByID,
	}
	repo, err := h.ReportRepo(ctx, scope, sent.RepoInfo)
	if repo != nil {
		record.Repo = repo.ID
	}
	return record, repo, err
}

// overrideAttestation replaces the verdict of an attestation.
func (h *handlers) overrideAttestation(ctx context.Context, in *resource.NewTrailPath, body *OverrideAttestationPostInput) (*server.TextAnswer, error) {
	scope := h.Scope(ctx, in.Flow, in.Trail)
	record, repo, err := h.recordOf(ctx, scope, verdict{
		base: &body.AttestationBase, kind: string(body.OriginalAttestationType), compliant: body.NewComplianceStatus,
	})
	if err != nil {
		return nil, err
	}
	record.Override = &evidence.Override{Reason: body.Reason}
	if err := h.Recorder.Override(ctx, scope, record, repo); err != nil {
		return nil, err
	}
	return server.OK(), nil
}

func (h *handlers) evaluateGeneric(_ context.Context, body *GenericAttestationPostInput) (verdict, error) {
	return verdict{base: &body.AttestationBase, kind: evidence.TypeGeneric, compliant: body.IsCompliant}, nil
}

func (h *handlers) evaluateJira(_ context.Context, body *JiraAttestationPostInput) (verdict, error) {
	members, err := payload{}.with("jira_results", body.JiraResults)
	return verdict{
		base: &body.AttestationBase, kind: evidence.TypeJira,
		compliant: attestation.EvaluateJira(body.JiraResults), payload: members,
	}, err
}

func (h *handlers) evaluateJUnit(_ context.Context, body *JUnitAttestationPostInput) (verdict, error) {
	members, err := payload{}.with("junit_results", body.JUnitResults)
	return verdict{
		base: &body.AttestationBase, kind: evidence.TypeJUnit,
		compliant: attestation.EvaluateJUnit(body.JUnitResults), payload: members,
	}, err
}

func (h *handlers) evaluatePullRequests(_ context.Context, body *PullRequestAttestationPostInput) (verdict, error) {
	if err := validation.Invalid(body.PullRequests.check()); err != nil {
		return verdict{}, err
	}
	members, err := payload{"git_provider": json.RawMessage(`"` + body.GitProvider + `"`)}.with("pull_requests", body.PullRequests)
	return verdict{
		base: &body.AttestationBase, kind: evidence.TypePullRequest,
		compliant: attestation.EvaluatePullRequests(body.PullRequests), payload: members,
	}, err
}

func (h *handlers) evaluateSnyk(_ context.Context, body *SnykAttestationPostInput) (verdict, error) {
	members, err := payload{}.with("processed_snyk_results", attestation.ProcessSnyk(body.SnykResults))
	return verdict{
		base: &body.AttestationBase, kind: evidence.TypeSnyk,
		compliant: attestation.EvaluateSnyk(body.SnykResults), payload: members,
	}, err
}

func (h *handlers) evaluateSonar(_ context.Context, body *SonarAttestationPostInput) (verdict, error) {
	members, err := payload{}.with("sonar_results", body.SonarResults)
	return verdict{
		base: &body.AttestationBase, kind: evidence.TypeSonar,
		compliant: attestation.EvaluateSonar(body.SonarResults), payload: members,
	}, err
}

// evaluateSystem judges by the only built-in type that has versions, the decision.
func (h *handlers) evaluateSystem(_ context.Context, body *SystemAttestationPostInput) (verdict, error) {
	data, err := attestation.ReadData(body.AttestationData.RawMessage)
	if err != nil {
		return verdict{}, err
	}
	decision, err := attestation.ReadDecision(data)
	return verdict{
		base: &body.AttestationBase, kind: evidence.TypeDecision, compliant: decision.IsCompliant,
		payload: payload{"attestation_data": data}, version: attestation.DecisionVersion, control: resource.ZeroIfNil(body.Control),
	}, err
}

// evaluateCustom judges by the current version of a custom type. Why a rule does not
// hold is for the log alone: it tells nothing of the payload.
func (h *handlers) evaluateCustom(ctx context.Context, body *CustomAttestationPostInput) (verdict, error) {
	data, err := attestation.ReadData(body.AttestationData.RawMessage)
	if err != nil {
		return verdict{}, err
	}
	org := server.Access(ctx)
	kind, version, definition, err := h.AttestationTypes.Current(ctx, org.OrgID, body.TypeName)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return verdict{}, evidence.NewError(evidence.NotFound,
			fmt.Sprintf("Custom attestation type '%s' does not exist for org '%s'", body.TypeName, org.OrgName))
	case err != nil:
		return verdict{}, err
	case kind.Archived:
		return verdict{}, evidence.NewError(evidence.Invalid,
			fmt.Sprintf("Custom attestation type '%s' has been archived for org '%s'", body.TypeName, org.OrgName))
	}
	judged, err := h.Evaluator.Evaluate(ctx, org.OrgID, definition, data)
	if err != nil {
		return verdict{}, err
	}
	if len(judged.Reasons) > 0 {
		h.Log.InfoContext(ctx, "custom attestation is not compliant", slog.String("request_id", server.RequestID(ctx)),
			slog.String("type", body.TypeName), slog.Int("version", version), slog.Any("reasons", judged.Reasons))
	}
	return verdict{
		base: &body.AttestationBase, kind: evidence.CustomPrefix + body.TypeName, compliant: judged.Compliant,
		payload: payload{"attestation_data": data}, version: version,
	}, nil
}
