package environments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"attestry/api/memory"
	"attestry/api/recognition"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage/environments"
	"attestry/tasks/reports"
)

// The answers to a report (docs/semantics.md 10.4).
const (
	reportUnchanged = "report processed, no new snapshots to create"
	reportAccepted  = "report accepted, it will be processed"
)

type reportType struct {
	operation    string // id of the operation
	environments []evidence.EnvironmentType
	serve        func(h *handlers, t *reportType) server.Binder
}

// reportTypes has the types of reports, with the types of environments that accept them.
var reportTypes = []reportType{
	{"k8s_report", acceptedBy(evidence.K8S), serveReport[K8SReport]},
	{"ecs_report", acceptedBy(evidence.ECS), serveReport[ECSReport]},
	{"s3_report", acceptedBy(evidence.S3), serveReport[S3Report]},
	{"azure_apps_report", acceptedBy(evidence.AzureApps), serveReport[AzureAppsReport]},
	{"cloud_run_report", acceptedBy(evidence.CloudRun), serveReport[CloudRunReport]},
	{"docker_report", acceptedBy(evidence.Docker), serveReport[DockerReport]},
	{"lambda_report", acceptedBy(evidence.Lambda), serveReport[LambdaReport]},
	{"server_report", acceptedBy(evidence.Server), serveReport[ServerReport]},
	{"serverless_report", acceptedBy(evidence.Lambda, evidence.CloudRun), serveReport[ServerlessReport]},
}

func acceptedBy(types ...evidence.EnvironmentType) []evidence.EnvironmentType { return types }

// reportBody is the body of a report of any type.
type reportBody interface {
	kind() ReportType
	instances() []snapshot.Instance
}

// ReportType is the optional `type` of a report's body. It must be the type of the operation.
type ReportType string

// UnmarshalJSON refuses "" and null, which would look like a missing type.
func (t *ReportType) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*string)(t)); err != nil {
		return err
	}
	if *t == "" {
		return errors.New("the type of the report is empty")
	}
	return nil
}

// serveReport serves the operation of a report type with the body T.
func serveReport[T any](h *handlers, t *reportType) server.Binder {
	kind := any(new(T)).(reportBody).kind()
	return server.WithUndecodedBody(func(ctx context.Context, in *resource.EnvironmentPath, body *server.Body[T]) (*server.TextAnswer, error) {
		ref, resolveErr := h.ResolveEnvironment(ctx, in.Environment)
		accepts := slices.Contains(t.environments, ref.Type)
		hash, hashed := h.Recognition.Hash(string(kind), body.Raw)
		if resolveErr == nil && accepts && hashed && body.ParametersValid {
			unchanged, err := h.recognize(ctx, ref.ID, hash)
			if err != nil {
				return nil, err
			}
			if unchanged {
				return textAnswer(snapshot.NoChange), nil
			}
		}
		// Errors of the body take precedence over those of the environment.
		decoded, err := body.Decode()
		switch {
		case err != nil:
			return nil, err
		case resolveErr != nil:
			return nil, resolveErr
		case !accepts:
			return nil, reportTypeMismatch(in.Environment, ref.Type, kind)
		}
		canonical, err := canonicalReport(server.RequestOf(ctx).Memory, ref.Type, any(decoded).(reportBody).instances())
		if err != nil {
			return nil, err
		}
		digest := canonical.Digest()
		verdict, err := h.acceptReport(ctx, ref, canonical, digest)
		if err != nil {
			return nil, err
		}
		if hashed {
			h.Recognition.Remember(ref.ID, hash, digest)
		}
		return textAnswer(verdict), nil
	})
}

// recognize reports whether the body with this hash would change nothing. It must have the same elements as the
// environment's last accepted report, in any order, and Intake.Unchanged must confirm it.
func (h *handlers) recognize(ctx context.Context, environment string, hash recognition.BodyHash) (unchanged bool, err error) {
	digest, ok := h.Recognition.Digest(environment, hash)
	if !ok {
		return false, nil
	}
	unchanged, err = h.Intake.Unchanged(ctx, environment, digest)
	if unchanged {
		h.Recognition.Recognized.Inc()
	}
	return unchanged, err
}

const (
	// instanceSize is the memory for one image of an instance while the canonical report is made, in bytes.
	instanceSize = 1200
	// encodedSizeMultiple is the memory for each byte of a canonical report while it is encoded and compressed.
	encodedSizeMultiple = 5
)

// canonicalReport makes the canonical form of a report, if there is memory for it. It repeats an instance for each of
// its images, so it may be much larger than the body.
func canonicalReport(m *memory.Account, kind evidence.EnvironmentType, instances []snapshot.Instance) (snapshot.Report, error) {
	images := 0
	for i := range instances {
		images += len(instances[i].Digests)
	}
	size := int64(images) * instanceSize
	if err := m.Take(size); err != nil {
		return snapshot.Report{}, err
	}
	report := snapshot.Canonical(kind, instances)
	if images <= len(instances) {
		return report, nil
	}
	encoded, err := report.Size()
	if err != nil {
		return snapshot.Report{}, err
	}
	// The body and its decoded form are no longer needed. The encoded report needs memory instead.
	return report, m.Keep(size + encodedSizeMultiple*int64(encoded))
}

func reportTypeMismatch(name string, of evidence.EnvironmentType, sent ReportType) error {
	text := fmt.Sprintf("Environment '%s' takes reports of type '%s'", name, of)
	if of == evidence.LogicalType {
		text = fmt.Sprintf("Environment '%s' is logical and takes no reports", name)
	}
	fields := map[string]string{"type": fmt.Sprintf("%s [input: %s]", text, sent)}
	return &evidence.Error{Code: evidence.Invalid, Message: "Invalid report data", Fields: fields}
}

// acceptReport submits a report and returns its verdict. It returns an error instead of snapshot.Failed.
func (h *handlers) acceptReport(ctx context.Context, ref environments.EnvironmentRef, report snapshot.Report, digest string) (snapshot.Verdict, error) {
	verdict, err := h.Intake.Accept(ctx, reports.Submission{
		Org: server.Access(ctx).OrgID, Environment: ref.ID, ReportedBy: server.Principal(ctx).Name,
		Report: report, Digest: digest, Stored: server.RequestOf(ctx).Memory.Release,
	})
	if err == nil && verdict == snapshot.Failed {
		err = errors.New("the worker has parked the report after it failed repeatedly")
	}
	return verdict, err
}

// textAnswer returns the answer for a verdict, which must not be snapshot.Failed.
func textAnswer(verdict snapshot.Verdict) *server.TextAnswer {
	switch verdict {
	case snapshot.Created:
		return server.Created()
	case snapshot.NoChange:
		return server.Stored(false, reportUnchanged)
	default:
		return server.Stored(false, reportAccepted)
	}
}
