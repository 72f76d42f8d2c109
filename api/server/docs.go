package server

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
)

//go:embed docs.html
var docsPage string

// componentPrefix is where the document keeps the schemas that have a name.
const componentPrefix = "#/components/schemas/"

// describe is the head of the OpenAPI document.
func describe(links Links) huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Attestry",
				Version:     "2.0",
				Description: "Evidence of software delivery: what was built, what was found out about it, and what runs where.",
			},
			Servers: []*huma.Server{{URL: links.API()}},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry(componentPrefix, huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "An API key."},
					"basic":  {Type: "http", Scheme: "basic", Description: "An API key as the user name; the password is ignored."},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": jsonFormat()},
		DefaultFormat: "application/json",
	}
}

// serveDocuments serves the OpenAPI document and the page to read it. Both are
// made once, as the operations no longer change.
func (s *Server) serveDocuments() error {
	document, err := json.Marshal(s.api.OpenAPI())
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	reading, err := renderDocs(s.api.OpenAPI())
	if err != nil {
		return fmt.Errorf("write the reading page: %w", err)
	}
	s.serveFixed(prefix+"/openapi.json", fiber.MIMEApplicationJSON, document)
	s.serveFixed("/openapi.json", fiber.MIMEApplicationJSON, document)
	s.serveFixed(prefix+"/docs", fiber.MIMETextHTMLCharsetUTF8, reading)
	return nil
}

func (s *Server) serveFixed(path, contentType string, content []byte) {
	s.app.Get(path, func(c *fiber.Ctx) error {
		requestOf(c.UserContext()).route = path
		c.Set(fiber.HeaderContentType, contentType)
		c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; style-src 'unsafe-inline'")
		return c.Send(content)
	})
}

// docsTag and the types below are what the reading page shows.
type docsTag struct {
	Name       string
	Operations []docsOperation
}

type docsOperation struct {
	Method     string
	Path       string
	ID         string
	Summary    string
	Deprecated bool
	Parameters []docsParameter
	Bodies     []docsBody
	Answers    []docsAnswer
}

type docsParameter struct {
	Name, In, About string
	Required        bool
	Schema          string
}

type docsBody struct{ ContentType, Schema string }

type docsAnswer struct{ Status, About, Schema string }

type docsSchema struct{ Name, Schema string }

func renderDocs(document *huma.OpenAPI) ([]byte, error) {
	page, err := template.New("docs").Parse(docsPage)
	if err != nil {
		return nil, err
	}
	tags, err := docsTags(document)
	if err != nil {
		return nil, err
	}
	schemas, err := docsSchemas(document)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Info": document.Info, "Server": document.Servers[0].URL, "Tags": tags, "Schemas": schemas,
	})
	return out.Bytes(), err
}

func docsTags(document *huma.OpenAPI) ([]docsTag, error) {
	byTag := map[string][]docsOperation{}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			op := operationAt(document, method, path)
			if op == nil {
				continue
			}
			shown, err := docsOperationOf(op)
			if err != nil {
				return nil, err
			}
			tag := strings.Join(op.Tags, ", ")
			byTag[tag] = append(byTag[tag], shown)
		}
	}
	var tags []docsTag
	for _, name := range slices.Sorted(maps.Keys(byTag)) {
		tags = append(tags, docsTag{Name: name, Operations: byTag[name]})
	}
	return tags, nil
}

func docsOperationOf(op *huma.Operation) (docsOperation, error) {
	shown := docsOperation{Method: op.Method, Path: op.Path, ID: op.OperationID, Summary: op.Summary, Deprecated: op.Deprecated}
	for _, p := range op.Parameters {
		schema, err := compactSchema(p.Schema)
		if err != nil {
			return shown, err
		}
		shown.Parameters = append(shown.Parameters,
			docsParameter{Name: p.Name, In: p.In, About: p.Description, Required: p.Required, Schema: schema})
	}
	if op.RequestBody != nil {
		for _, contentType := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
			schema, err := compactSchema(op.RequestBody.Content[contentType].Schema)
			if err != nil {
				return shown, err
			}
			shown.Bodies = append(shown.Bodies, docsBody{ContentType: contentType, Schema: schema})
		}
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		answer := docsAnswer{Status: status, About: op.Responses[status].Description}
		for _, media := range op.Responses[status].Content {
			schema, err := compactSchema(media.Schema)
			if err != nil {
				return shown, err
			}
			answer.Schema = schema
		}
		shown.Answers = append(shown.Answers, answer)
	}
	return shown, nil
}

func docsSchemas(document *huma.OpenAPI) ([]docsSchema, error) {
	all := document.Components.Schemas.Map()
	var schemas []docsSchema
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, err := json.MarshalIndent(all[name], "", "  ")
		if err != nil {
			return nil, err
		}
		schemas = append(schemas, docsSchema{Name: name, Schema: string(text)})
	}
	return schemas, nil
}

// compactSchema shows a schema on one line; a reference by its name.
func compactSchema(s *huma.Schema) (string, error) {
	if s == nil {
		return "", nil
	}
	if s.Ref != "" {
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:], nil
	}
	text, err := json.Marshal(s)
	return string(text), err
}
