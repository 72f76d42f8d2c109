package server

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// The JSON Schemas of the two YAML formats (docs/semantics.md 3.2).
var (
	//go:embed schemas/flow-template.v1.json
	flowTemplateSchema schemaDocument
	//go:embed schemas/environment-policy.v1.json
	environmentPolicySchema schemaDocument
)

// SchemaRoutes are those of the published schemas.
func SchemaRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/schemas/flow-template/v1", OperationID: "flow_template_schema_v1", Tag: "Schemas",
			Summary: "Read the JSON Schema of flow templates", Serve: Handle(answerSchema(flowTemplateSchema)),
		},
		{
			Method: http.MethodGet, Path: "/schemas/environment-policy/v1", OperationID: "environment_policy_schema_v1", Tag: "Schemas",
			Summary: "Read the JSON Schema of environment policies", Serve: Handle(answerSchema(environmentPolicySchema)),
		},
	}
}

// schemaDocument is a JSON Schema as it is written.
type schemaDocument []byte

// MarshalJSON gives the document as it is.
func (d schemaDocument) MarshalJSON() ([]byte, error) { return d, nil }

// Schema says that the answer is an object.
func (schemaDocument) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

type schemaAnswer struct {
	Body schemaDocument
}

func answerSchema(document schemaDocument) func(context.Context, *struct{}) (*schemaAnswer, error) {
	return func(context.Context, *struct{}) (*schemaAnswer, error) {
		return &schemaAnswer{Body: document}, nil
	}
}
