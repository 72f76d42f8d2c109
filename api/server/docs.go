package server

import (
	_ "embed" // about.md
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"attestry/api/docs"
	"attestry/api/representation"
	"attestry/evidence"
	"attestry/links"
	"attestry/process/buildinfo"
)

const (
	documentPath = links.Prefix + "/openapi.json"
	docsPath     = links.Prefix + "/docs"
)

// publicCaching lets shared caches store an answer that they revalidate before each use.
const publicCaching = "public, no-cache"

// apiVersion is the version of the interface, not of the service.
const apiVersion = "2.0"

const componentPrefix = "#/components/schemas/"

// describe returns the configuration of huma: the OpenAPI document without its operations, and the formats.
func describe(links links.Links) huma.Config {
	build := buildinfo.Read()
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Attestry",
				Version:     apiVersion,
				Description: strings.TrimSpace(about),
				Extensions:  map[string]any{"x-version": build.Version, "x-commit": build.Commit},
			},
			Servers: []*huma.Server{{URL: links.API()}},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry(componentPrefix, huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "An API key, sent as `Authorization: Bearer KEY`."},
					"basic":  {Type: "http", Scheme: "basic", Description: "An API key as the user name; the password is ignored. Accepted by every operation."},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": jsonFormat()},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{swapAnswer},
	}
}

// describeEmptyDefaults documents empty texts as defaults, as huma ignores the tag `default:""`.
func describeEmptyDefaults(registry huma.Registry) {
	for name, schema := range registry.Map() {
		described := registry.TypeFromRef(componentPrefix + name)
		if described == nil || described.Kind() != reflect.Struct {
			continue
		}
		for i := range described.NumField() {
			field := described.Field(i)
			if text, ok := field.Tag.Lookup("default"); ok && text == "" {
				member, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				schema.Properties[member].Default = ""
			}
		}
	}
}

// serveDocuments serves the OpenAPI document and the page that renders it. /api/v2/doc redirects to that page, and so
// does the root if the server has no web pages.
func (s *Server) serveDocuments() error {
	describeEmptyDefaults(s.registry)
	document, err := json.Marshal(s.api.OpenAPI())
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	for _, path := range []string{documentPath, "/openapi.json"} {
		s.serveFixed(path, fiber.MIMEApplicationJSON, "default-src 'none'", document)
	}
	redirects := []string{links.Prefix + "/doc", links.Prefix + "/doc/"}
	if s.Session == nil {
		redirects = append(redirects, "/")
	}
	for _, path := range redirects {
		s.serveOwn(path, func(c *fiber.Ctx) error { return c.Redirect(docsPath, fiber.StatusFound) })
	}
	return s.serveDocs()
}

func (s *Server) serveDocs() error {
	page, err := docs.New(s.api.OpenAPI().Info.Title, documentPath, docsPath)
	if err != nil {
		return err
	}
	s.serveFixed(docsPath, fiber.MIMETextHTMLCharsetUTF8, page.Policy, page.HTML)
	for _, file := range page.Files {
		s.serveOwn(docsPath+"/"+file.Name, func(c *fiber.Ctx) error { return sendFile(c, file) })
	}
	return nil
}

// serveFixed serves content that does not change while the process runs, plain or compressed, with different ETags.
func (s *Server) serveFixed(path, contentType, policy string, content []byte) {
	hash := evidence.SHA256(content)
	plain, compressed := representation.Tag(hash), representation.Tag(hash+"-gzip")
	packed := representation.Gzip(content)
	s.serveOwn(path, func(c *fiber.Ctx) error {
		sent, tag := content, plain
		if representation.NegotiateGzip(c.Context()) {
			sent, tag = packed, compressed
		}
		c.Set(fiber.HeaderETag, tag)
		c.Set(fiber.HeaderCacheControl, publicCaching)
		c.Set(fiber.HeaderContentSecurityPolicy, policy)
		switch representation.Precondition(RequestOf(c.UserContext()).header, tag) {
		case fiber.StatusNotModified:
			c.Response().Header.Del(fiber.HeaderContentEncoding)
			c.Status(fiber.StatusNotModified)
			return nil
		case fiber.StatusPreconditionFailed:
			c.Response().Header.Del(fiber.HeaderContentEncoding)
			return newProblem(fiber.StatusPreconditionFailed, preconditionMessage)
		}
		c.Set(fiber.HeaderContentType, contentType)
		return c.Send(sent)
	})
}

func sendFile(c *fiber.Ctx, file docs.File) error {
	c.Set(fiber.HeaderContentType, file.ContentType)
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'")
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	if file.Gzip != nil && representation.NegotiateGzip(c.Context()) {
		return c.Send(file.Gzip)
	}
	content, err := file.Plain()
	if err != nil {
		return err
	}
	return c.Send(content)
}

//go:embed about.md
var about string

// describeUse documents who may call the operation, and an example.
func (s *Server) describeUse(op *huma.Operation, route Route) {
	op.Description = route.access()
	example, ok := s.examples[route.OperationID]
	if !ok {
		return
	}
	for _, parameter := range op.Parameters {
		if value, ok := example.Parameters[parameter.Name]; ok {
			parameter.Example = value
		}
	}
	if op.RequestBody != nil {
		showExample(op.RequestBody.Content, example.Request)
		s.showParts(op.RequestBody, example.Request)
	}
	for _, status := range route.statuses() {
		response := op.Responses[strconv.Itoa(status)]
		if example.Media != "" {
			response.Content = map[string]*huma.MediaType{example.Media: {Schema: &huma.Schema{Type: huma.TypeString}}}
		}
		showExample(response.Content, example.Answer)
	}
}

func showExample(content map[string]*huma.MediaType, example json.RawMessage) {
	for _, media := range content {
		media.Example = example
	}
}

// showParts adds the examples to the schemas of a form's parts, from which Swagger UI fills in the form.
func (s *Server) showParts(body *huma.RequestBody, example json.RawMessage) {
	form, ok := body.Content["multipart/form-data"]
	var parts map[string]json.RawMessage
	if !ok || json.Unmarshal(example, &parts) != nil {
		return
	}
	described := s.registry.SchemaFromRef(form.Schema.Ref).Properties
	for name, part := range parts {
		described[name].Examples = []any{part}
	}
}

func (r Route) access() string {
	switch {
	case r.Signed:
		return "Needs no API key, but a signature with the secret of the webhook."
	case r.Public:
		return "Needs no API key."
	case !r.ofOrganization():
		return "Needs any valid API key."
	case r.RefuseTokens:
		return fmt.Sprintf("Needs the role `%s` or above in the organization, and an API key: tokens of identity providers are refused.", r.MinRole)
	case r.MinRole == evidence.Reader:
		return "Needs the role `reader` or above in the organization; if that is public, any valid API key."
	case r.MinRole == evidence.Admin:
		return "Needs the role `admin` in the organization."
	default:
		return fmt.Sprintf("Needs the role `%s` or above in the organization.", r.MinRole)
	}
}
