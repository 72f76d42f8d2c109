// Package schemas serves the JSON Schemas of the two YAML formats (docs/semantics.md 3.2).
package schemas

import (
	"context"
	_ "embed"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/server"
)

var (
	//go:embed flow-template.v1.json
	flowTemplate document
	//go:embed environment-policy.v1.json
	environmentPolicy document
)

// Routes are the routes of the published schemas.
func Routes() []server.Route {
	return server.Routes(map[string]server.Binder{
		"flow_template_schema_v1":      server.Handle(serve(flowTemplate)),
		"environment_policy_schema_v1": server.Handle(serve(environmentPolicy)),
	})
}

// document is the text of a JSON Schema.
type document []byte

// MarshalJSON returns the document unchanged.
func (d document) MarshalJSON() ([]byte, error) { return d, nil }

// Schema is the schema of an answer with any object.
func (document) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

func serve(content document) func(context.Context, *struct{}) (*server.Answer[document], error) {
	return func(context.Context, *struct{}) (*server.Answer[document], error) {
		return server.Answered(content), nil
	}
}
