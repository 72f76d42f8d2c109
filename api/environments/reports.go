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

// reportType is a type of report: a row of reportTypes.
type reportType struct {
	// operation is the operation's id.
	operation string
	// takers are the types of the environments that take such reports.
	takers []evidence.EnvironmentType
	serve  func(h *handlers, t *reportType) server.Binder
}

// reportTypes are all types of reports. Each has an operation.
var reportTypes = []reportType{
	{"k8s_report", takenBy(evidence.K8S), serveReport[K8SReport]},
	{"ecs_report", takenBy(evidence.ECS), serveReport[ECSReport]},
	{"s3_report", takenBy(evidence.S3), serveReport[S3Report]},
	{"azure_apps_report", takenBy(evidence.AzureApps), serveReport[AzureAppsReport]},
	{"cloud_run_report", takenBy(evidence.CloudRun), serveReport[CloudRunReport]},
	{"docker_report", takenBy(evidence.Docker), serveReport[DockerReport]},
	{"lambda_report", takenBy(evidence.Lambda), serveReport[LambdaReport]},
	{"server_report", takenBy(evidence.Server), serveReport[ServerReport]},
	{"serverless_report", takenBy(evidence.Lambda, evidence.CloudRun), serveReport[ServerlessReport]},
}

func takenBy(types ...evidence.EnvironmentType) []evidence.EnvironmentType { return types }

// reportBody is the body of a report of any type.
type reportBody interface {
	kind() ReportType
	instances() []snapshot.Instance
}

// ReportType is the `type` of a report's body: that of its operation, or absent.
type ReportType string

// UnmarshalJSON refuses what would be taken for absent: "" and null.
func (t *ReportType) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*string)(t)); err != nil {
		return err
	}
	if *t == "" {
		return errors.New("the type of the report is empty")
	}
	return nil
}

// serveReport serves the operation of a type whose body is a T.
func serveReport[T any](h *handlers, t *reportType) server.Binder {
	kind := any(new(T)).(reportBody).kind()
	return server.WithUndecodedBody(func(ctx context.Context, in *resource.EnvironmentPath, body *server.Body[T]) (*server.TextAnswer, error) {
		ref, resolveErr := h.ResolveEnvironment(ctx, in.Environment)
		takes := slices.Contains(t.takers, ref.Type)
		hash, hashed := h.Recognition.Hash(string(kind), body.Raw)
		if resolveErr == nil && takes && hashed && body.ParametersValid {
			unchanged, err := h.recognize(ctx, ref.ID, hash)
			if err != nil {
				return nil, err
			}
			if unchanged {
				return textAnswer(snapshot.NoChange), nil
			}
		}
		// Findings on the body take precedence over those on the environment.
		decoded, err := body.Decode()
		switch {
		case err != nil:
			return nil, err
		case resolveErr != nil:
			return nil, resolveErr
		case !takes:
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

// recognize reports whether a body with that hash is the last report of the environment, with
// its elements in any order, and changes nothing.
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
	// instanceSize is what an image of an instance takes up while a report is brought into
	// its canonical form, in bytes.
	instanceSize = 1200
	// encodedSizeMultiple is what each byte of a canonical report becomes while it is encoded and compressed.
	encodedSizeMultiple = 5
)

// canonicalReport brings a report into its canonical form, if there is memory for it. That
// repeats an instance for each of its images, and so may be far larger than the body.
func canonicalReport(m *memory.Account, kind evidence.EnvironmentType, instances []snapshot.Instance) (snapshot.Report, error) {
	images := 0
	for i := range instances {
		images += len(instances[i].Digests)
	}
	gathered := int64(images) * instanceSize
	if err := m.Take(gathered); err != nil {
		return snapshot.Report{}, err
	}
	report := snapshot.Canonical(kind, instances)
	if images <= len(instances) {
		return report, nil
	}
	size, err := report.Size()
	if err != nil {
		return snapshot.Report{}, err
	}
	// From here on the encoded report needs memory, and no longer the body and what was decoded of it.
	return report, m.Keep(gathered + encodedSizeMultiple*int64(size))
}

func reportTypeMismatch(name string, of evidence.EnvironmentType, sent ReportType) error {
	text := fmt.Sprintf("Environment '%s' takes reports of type '%s'", name, of)
	if of == evidence.LogicalType {
		text = fmt.Sprintf("Environment '%s' is logical and takes no reports", name)
	}
	fields := map[string]string{"type": fmt.Sprintf("%s [input: %s]", text, sent)}
	return &evidence.Error{Code: evidence.Invalid, Message: "Invalid report data", Fields: fields}
}

// acceptReport takes a report and returns its verdict, which is not snapshot.Failed.
func (h *handlers) acceptReport(ctx context.Context, ref environments.EnvironmentRef, report snapshot.Report, digest string) (snapshot.Verdict, error) {
	verdict, err := h.Intake.Accept(ctx, reports.Submission{
		Org: server.Access(ctx).OrgID, Environment: ref.ID, ReportedBy: server.Principal(ctx).Name,
		Report: report, Digest: digest, Stored: server.RequestOf(ctx).Memory.Release,
	})
	if err == nil && verdict == snapshot.Failed {
		err = errors.New("the report was given up by the worker")
	}
	return verdict, err
}

// textAnswer is the answer to a report with a verdict other than snapshot.Failed.
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
