package attestations

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/jsontext"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// schemaField is the part of the form with the JSON Schema.
const schemaField = "type_schema"

// CustomAttestationTypePostInput is the data of post_custom_attestation_type (docs/semantics.md 8.1). Names may have a
// dot (docs/semantics.md 1.5), and clients send summary.
type CustomAttestationTypePostInput struct {
	Name        string         `json:"name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_~.]*$"`
	Description *string        `json:"description,omitempty" nullable:"true" format:"plain-text"`
	Evaluator   EvaluatorInput `json:"evaluator,omitempty"`
	Summary     []TypeSummary  `json:"summary,omitempty" nullable:"true"`
}

// TypeSummary is a line of the summary that clients show of a payload.
type TypeSummary struct {
	Name       string `json:"name"`
	Expression string `json:"expression" doc:"A jq expression."`
}

// JQEvaluator judges payloads by jq rules, which must all return true.
type JQEvaluator struct {
	_           struct{} `json:"-" additionalProperties:"true"`
	ContentType string   `json:"content_type,omitempty" enum:"jq" default:"jq"`
	Rules       []string `json:"rules"`
}

// DefaultEvaluator judges payloads only by the type's schema.
type DefaultEvaluator struct {
	_           struct{} `json:"-" additionalProperties:"true"`
	ContentType string   `json:"content_type,omitempty" enum:"default" default:"default"`
}

// EvaluatorInput is an evaluator in a request. If it is left out, the default evaluator is used; null means none.
type EvaluatorInput struct {
	sent  bool
	value *evidence.Evaluator
}

// Schema accepts either evaluator, or null, and documents the default.
func (EvaluatorInput) Schema(registry huma.Registry) *huma.Schema {
	schema := evaluatorSchema(registry)
	schema.Default = map[string]any{"content_type": evidence.DefaultEvaluator}
	return schema
}

func evaluatorSchema(registry huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		registry.Schema(reflect.TypeFor[JQEvaluator](), true, ""),
		registry.Schema(reflect.TypeFor[DefaultEvaluator](), true, ""),
		{Type: validation.TypeNull},
	}}
}

// UnmarshalJSON decodes a valid evaluator. Without a content type, it is a jq evaluator if it has rules.
func (e *EvaluatorInput) UnmarshalJSON(data []byte) error {
	var members *struct {
		ContentType string    `json:"content_type"`
		Rules       *[]string `json:"rules"`
	}
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	e.sent, e.value = true, nil
	switch {
	case members == nil:
	case members.Rules == nil || members.ContentType == evidence.DefaultEvaluator:
		e.value = &evidence.Evaluator{ContentType: evidence.DefaultEvaluator}
	default:
		e.value = &evidence.Evaluator{ContentType: evidence.JQEvaluator, Rules: *members.Rules}
	}
	return nil
}

func (e EvaluatorInput) evaluator() *evidence.Evaluator {
	if !e.sent {
		return &evidence.Evaluator{ContentType: evidence.DefaultEvaluator}
	}
	return e.value
}

// CustomAttestationType is a custom attestation type in answers (docs/semantics.md 8.1). An unset description is left
// out because clients would print null. The answer about one version has neither created_by nor the times.
type CustomAttestationType struct {
	Name           string                                        `json:"name"`
	Description    *string                                       `json:"description,omitempty"`
	Org            string                                        `json:"org"`
	Archived       bool                                          `json:"archived"`
	CreatedBy      *string                                       `json:"created_by,omitempty"`
	CreatedAt      *float64                                      `json:"created_at,omitempty" doc:"Unix seconds."`
	LastModifiedAt *float64                                      `json:"last_modified_at,omitempty" doc:"Unix seconds."`
	Versions       jsonstream.List[CustomAttestationTypeVersion] `json:"versions" doc:"Newest first."`
}

// CustomAttestationTypeVersion is one version of a type.
type CustomAttestationTypeVersion struct {
	Version    int                      `json:"version"`
	Timestamp  float64                  `json:"timestamp" doc:"Unix seconds."`
	CreatedBy  string                   `json:"created_by"`
	TypeSchema resource.OptionalMembers `json:"type_schema" doc:"Null when there is none, and in lists when it is longer than 64 KiB."`
	Evaluator  *ShownEvaluator          `json:"evaluator"`
	Summary    []TypeSummary            `json:"summary,omitempty"`
}

// ShownEvaluator is an evaluator in an answer; nil is null.
type ShownEvaluator struct {
	ContentType string `json:"content_type"`
	// Rules is set for a jq evaluator, even if it has no rules, and for no other.
	Rules *[]string `json:"rules,omitempty"`
}

// Schema is the schema of both evaluators, or null.
func (ShownEvaluator) Schema(registry huma.Registry) *huma.Schema { return evaluatorSchema(registry) }

func showEvaluator(evaluator *evidence.Evaluator) *ShownEvaluator {
	switch {
	case evaluator == nil:
		return nil
	case evaluator.ContentType == evidence.DefaultEvaluator:
		return &ShownEvaluator{ContentType: evidence.DefaultEvaluator}
	}
	return &ShownEvaluator{ContentType: evidence.JQEvaluator, Rules: new(append([]string{}, evaluator.Rules...))}
}

// AttestationTypePath is the path of an operation on a custom attestation type.
type AttestationTypePath struct {
	server.OrgPath
	Name string `path:"custom_attestation_type_name" doc:"Name of the custom attestation type."`
}

type attestationTypeInput struct {
	AttestationTypePath
	Version int `query:"version" doc:"Only this version of it."`
}

// postAttestationType creates a type, or its next version. A version inherits nothing from the one before. An archived
// type is restored (docs/semantics.md 8.1).
func (h *handlers) postAttestationType(ctx context.Context, _ *server.OrgPath, f *server.Form[CustomAttestationTypePostInput]) (*server.TextAnswer, error) {
	schema, err := readSchema(ctx, f)
	if err != nil {
		return nil, err
	}
	version := evidence.AttestationTypeVersion{
		Org:         server.Access(ctx).OrgID,
		Name:        f.Data.Name,
		Timestamp:   evidence.Seconds(h.Clock()),
		CreatedBy:   server.Principal(ctx).Name,
		Description: f.Data.Description,
		Schema:      schema,
		Evaluator:   f.Data.Evaluator.evaluator(),
	}
	for _, item := range f.Data.Summary {
		version.Summary = append(version.Summary, evidence.SummaryItem(item))
	}
	definition := attestation.Definition{Schema: schema, Rules: version.Rules(), Summary: version.Summary}
	if err := h.Evaluator.Check(ctx, version.Org, definition); err != nil {
		return nil, err
	}
	_, err = h.AttestationTypes.Put(ctx, version)
	return server.Created(), err
}

// readSchema reads the JSON Schema of a form, nil if there is none. An empty file is an invalid schema and not a
// missing one, so that no type is created without the schema that it was meant to have.
func readSchema(ctx context.Context, f *server.Form[CustomAttestationTypePostInput]) (json.RawMessage, error) {
	var schema json.RawMessage
	err := server.ReadFile(ctx, f.File, server.FileLimit, func(read []byte) error {
		if jsontext.Invalid(read) >= 0 {
			return validation.Fault(schemaField, validation.UnreadableText, schemaField)
		}
		if path, key, repeated := jsontext.Repeated(read); repeated {
			return validation.Fault(validation.Join(schemaField, path), jsontext.RepeatedText, key)
		}
		schema = read
		return nil
	})
	return schema, err
}

func (h *handlers) listAttestationTypes(ctx context.Context, _ *server.OrgPath) (*server.Answer[jsonstream.List[CustomAttestationType]], error) {
	org := server.Access(ctx)
	show := func(_ context.Context, batch []pipelines.AttestationTypeHistory) ([]CustomAttestationType, error) {
		return resource.Map(batch, func(found *pipelines.AttestationTypeHistory) CustomAttestationType {
			return showAttestationType(org, found, h.listedVersions(found.Versions))
		}), nil
	}
	return server.Answered(server.ListOf(h.BatchBytes, h.AttestationTypes.List(org.OrgID), show)), nil
}

// listedVersions shows versions without their large schemas.
func (h *handlers) listedVersions(versions *storage.Batches[evidence.AttestationTypeVersion]) jsonstream.List[CustomAttestationTypeVersion] {
	return server.ListOf(h.BatchBytes, versions, func(_ context.Context, batch []evidence.AttestationTypeVersion) ([]CustomAttestationTypeVersion, error) {
		return resource.Map(batch, showAttestationTypeVersion), nil
	})
}

// wholeVersions shows versions with their schemas. It loads one large schema at a time.
func (h *handlers) wholeVersions(versions *storage.Batches[evidence.AttestationTypeVersion]) jsonstream.List[CustomAttestationTypeVersion] {
	var pending []evidence.AttestationTypeVersion
	return jsonstream.NewList(func(ctx context.Context) (_ []CustomAttestationTypeVersion, _ bool, err error) {
		server.RequestOf(ctx).Memory.Rewind(0)
		if len(pending) == 0 {
			if pending, err = versions.Next(ctx, h.BatchBytes); err != nil {
				return nil, false, err
			}
		}
		n := min(1, len(pending))
		for n < len(pending) && pending[n-1].SchemaObject == "" && pending[n].SchemaObject == "" {
			n++
		}
		part := pending[:n]
		pending = pending[n:]
		if n == 1 {
			err = h.AttestationTypes.LoadSchema(ctx, &part[0])
		}
		return resource.Map(part, showAttestationTypeVersion), len(pending) > 0 || versions.More(), err
	})
}

func (h *handlers) getAttestationType(ctx context.Context, in *attestationTypeInput) (*server.Answer[CustomAttestationType], error) {
	if server.QueryHas(ctx, "version") {
		return h.getAttestationTypeVersion(ctx, in)
	}
	org := server.Access(ctx)
	found, err := h.AttestationTypes.Get(ctx, org.OrgID, in.Name)
	return server.Answered(showAttestationType(org, &found, h.wholeVersions(found.Versions))), attestationTypeNotFound(err, org, in.Name)
}

func (h *handlers) getAttestationTypeVersion(ctx context.Context, in *attestationTypeInput) (*server.Answer[CustomAttestationType], error) {
	org := server.Access(ctx)
	head, err := h.AttestationTypes.Head(ctx, org.OrgID, in.Name)
	if err != nil {
		return nil, attestationTypeNotFound(err, org, in.Name)
	}
	version, err := h.AttestationTypes.Version(ctx, head, in.Version)
	if err != nil {
		return nil, resource.NotFound(err, "version %d does not exist for custom attestation type '%s'", in.Version, in.Name)
	}
	return server.Answered(CustomAttestationType{
		Name: head.Name, Description: head.Description, Org: org.OrgName, Archived: head.Archived,
		Versions: jsonstream.ListOf([]CustomAttestationTypeVersion{showAttestationTypeVersion(&version)}),
	}), nil
}

func (h *handlers) archiveAttestationType(ctx context.Context, in *AttestationTypePath) (*server.TextAnswer, error) {
	org := server.Access(ctx)
	err := h.AttestationTypes.Archive(ctx, org.OrgID, in.Name, evidence.Seconds(h.Clock()))
	return server.OK(), attestationTypeNotFound(err, org, in.Name)
}

func attestationTypeNotFound(err error, org evidence.OrgAccess, name string) error {
	return resource.NotFound(err, "Custom attestation type '%s' does not exist for org '%s'", name, org.OrgName)
}

func showAttestationType(org evidence.OrgAccess, found *pipelines.AttestationTypeHistory, versions jsonstream.List[CustomAttestationTypeVersion]) CustomAttestationType {
	return CustomAttestationType{
		Name: found.Name, Description: found.Description, Org: org.OrgName, Archived: found.Archived, CreatedBy: &found.CreatedBy,
		CreatedAt: &found.CreatedAt, LastModifiedAt: &found.LastModifiedAt, Versions: versions,
	}
}

func showAttestationTypeVersion(version *evidence.AttestationTypeVersion) CustomAttestationTypeVersion {
	return CustomAttestationTypeVersion{
		Version: version.Version, Timestamp: version.Timestamp, CreatedBy: version.CreatedBy,
		TypeSchema: resource.OptionalMembers{RawMessage: version.Schema}, Evaluator: showEvaluator(version.Evaluator),
		Summary: resource.Map(version.Summary, func(item *evidence.SummaryItem) TypeSummary { return TypeSummary(*item) }),
	}
}

// SystemAttestationTypes is the answer of list_system_attestation_types (docs/semantics.md 8.3).
type SystemAttestationTypes struct {
	Types []SystemAttestationType `json:"system_attestation_types"`
}

// SystemAttestationType is a built-in type that has versions.
type SystemAttestationType struct {
	Name        string                         `json:"name"`
	Description string                         `json:"description"`
	Versions    []SystemAttestationTypeVersion `json:"versions"`
}

// SystemAttestationTypeVersion is one version of a built-in type.
type SystemAttestationTypeVersion struct {
	Version int                      `json:"version"`
	Schema  resource.OptionalMembers `json:"attestation_data_schema"`
}

// listSystemTypes lists the types of system attestations. Other built-in types (generic, junit, …) are not listed: they
// have their own operations, and neither attestation_data nor versions.
func (h *handlers) listSystemTypes(context.Context, *struct{}) (*server.Answer[SystemAttestationTypes], error) {
	return server.Answered(SystemAttestationTypes{Types: []SystemAttestationType{{
		Name:        attestation.DecisionName,
		Description: "A decision about a control: whether it is met, for an artifact or a trail.",
		Versions: []SystemAttestationTypeVersion{{
			Version: attestation.DecisionVersion,
			Schema:  resource.OptionalMembers{RawMessage: attestation.DecisionSchema},
		}},
	}}}), nil
}
