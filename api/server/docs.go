package server

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"attestry/api/docs"
	"attestry/api/representation"
	"attestry/links"
	"attestry/process/buildinfo"
)

const (
	documentPath = links.Prefix + "/openapi.json"
	docsPath     = links.Prefix + "/docs"
)

// publicCaching lets caches keep what is the same for everybody, and has them ask
// whether it is still so.
const publicCaching = "public, no-cache"

// apiVersion is the version of the interface, which stays when that of the service changes.
const apiVersion = "2.0"

// componentPrefix is where the document keeps the schemas that have a name.
const componentPrefix = "#/components/schemas/"

// describe is the head of the OpenAPI document.
func describe(links links.Links) huma.Config {
	build := buildinfo.Read()
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Attestry",
				Version:     apiVersion,
				Description: about,
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

// describeEmptyDefaults documents the empty texts that members have as defaults: huma
// takes the tag `default:""` for none.
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

// serveDocuments serves the OpenAPI document and the page to read it. /api/v2/doc redirects to that page, and so does
// the root unless there are pages for people. All are made once, as the operations no longer change.
func (s *Server) serveDocuments() error {
	describeEmptyDefaults(s.registry)
	document, err := json.Marshal(s.api.OpenAPI())
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	for _, path := range []string{documentPath, "/openapi.json"} {
		s.serveFixed(path, fiber.MIMEApplicationJSON, "default-src 'none'", document)
	}
	leading := []string{links.Prefix + "/doc", links.Prefix + "/doc/"}
	if s.sessions == nil { // else there is a page
		leading = append(leading, "/")
	}
	for _, path := range leading {
		s.serveOwn(path, func(c *fiber.Ctx) error { return c.Redirect(docsPath, fiber.StatusFound) })
	}
	return s.serveDocs()
}

// serveDocs serves the page on which people read the document, and its files.
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

// serveFixed serves what is the same for everybody as long as the process runs. Its forms, as it is and
// compressed, have tags of their own.
func (s *Server) serveFixed(path, contentType, policy string, content []byte) {
	hash := fmt.Sprintf("%x", sha256.Sum256(content))
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

// sendFile sends a file compressed to those who accept it.
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
