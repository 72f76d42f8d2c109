package server

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"attestry/api/framing"
	"attestry/evidence"
	"attestry/links"
)

// ServePage serves a path that is not an operation of the API, for people. The path is fiber's, with
// parameters behind colons, and names the route in logs and metrics.
func (s *Server) ServePage(method, path string, serve ...fiber.Handler) {
	headRouter{s.app}.Add(method, path, append([]fiber.Handler{nameRoute(path)}, serve...)...)
}

// ServeOtherPages has serve answer browsers that ask for a page at a path that nothing else serves. It
// must be called after all other paths are registered. Requests that do not accept HTML get the answer of the API.
func (s *Server) ServeOtherPages(serve fiber.Handler) {
	s.app.Use(func(c *fiber.Ctx) error {
		read := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
		if !read || strings.HasPrefix(c.Path(), links.Prefix+"/") || !strings.Contains(c.Get(fiber.HeaderAccept), fiber.MIMETextHTML) {
			return c.Next()
		}
		RequestOf(c.UserContext()).route = "/*"
		return serve(c)
	})
}

// serveOwn serves a path that is neither an operation nor a page.
func (s *Server) serveOwn(path string, serve fiber.Handler) {
	s.ServePage(fiber.MethodGet, path, func(c *fiber.Ctx) error {
		if err := QueryError(c.UserContext()); err != nil {
			return err
		}
		return serve(c)
	})
}

func nameRoute(path string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		RequestOf(c.UserContext()).route = path
		return c.Next()
	}
}

// ReadForm reads the form that a page sends, of at most limit bytes, so that fiber finds its fields. fiber itself would
// read it without a limit, and unpack it without one.
func (*Server) ReadForm(c *fiber.Ctx, limit int64) error {
	form, err := readBody(c.UserContext(), limit)
	if err != nil {
		return err
	}
	c.Request().SetBody(form)
	return nil
}

// Explain returns the answer to an error: its status, its sentence and its head. It logs errors that the sentence
// does not explain.
func (s *Server) Explain(ctx context.Context, err error) (status int, sentence string, head http.Header) {
	p := s.problemOf(ctx, err)
	sentence = p.Message
	for _, at := range slices.Sorted(maps.Keys(p.Errors)) {
		sentence += "; " + at + ": " + p.Errors[at]
	}
	return p.status, sentence, p.headers
}

// recognizeSession finds out who is signed in, for requests without an Authorization header. Sessions
// are good for reads only, as another site could make the browser send a write.
func (s *Server) recognizeSession(c *fiber.Ctx, r *Request) error {
	if s.Session == nil || r.SignedIn != nil || r.Authorization != "" {
		return nil
	}
	principal, err := s.Session(c)
	switch {
	case evidence.CodeOf(err) == evidence.Unauthorized:
		return nil
	case err != nil:
		return err
	case r.method != fiber.MethodGet && r.method != fiber.MethodHead:
		return evidence.NewError(evidence.Forbidden, "CSRF token missing")
	}
	r.SignedIn = &principal
	return nil
}

// Operation is an operation of the API as pages offer it.
type Operation struct {
	Route
	// Parameters and Body describe its request; Body is nil for none.
	Parameters []*huma.Param
	Body       *huma.RequestBody
	registry   huma.Registry
}

// Operation returns the operation of an id; ok reports whether there is one.
func (s *Server) Operation(id string) (found Operation, ok bool) {
	found, ok = s.operations[id]
	return found, ok
}

// Allows reports whether a principal with this access may call the operation.
func (o *Operation) Allows(principal evidence.Principal, org evidence.OrgAccess) bool {
	return o.rule().Check(principal, org) == nil
}

// Resolve returns the schema that another one refers to.
func (o *Operation) Resolve(schema *huma.Schema) *huma.Schema {
	for schema.Ref != "" {
		schema = o.registry.SchemaFromRef(schema.Ref)
	}
	return schema
}

// PageQuery is a request to the API that a page makes on behalf of whoever is signed in.
type PageQuery struct {
	Principal evidence.Principal
	Method    string
	// Target is the path below /api/v2, with its query.
	Target      string
	ContentType string
	Body        []byte
	// ctx is that of the page, once the query is on its way.
	ctx context.Context
}

// PageAnswer is the answer of the API to a PageQuery. Whoever has it closes its stream.
type PageAnswer struct{ *fasthttp.Response }

// Header is a field of the answer's head.
func (a *PageAnswer) Header(name string) string { return string(a.Response.Header.Peek(name)) }

// Body is the content of the answer. An error of reading means that it broke off.
func (a *PageAnswer) Body() io.Reader {
	if stream := a.BodyStream(); stream != nil {
		return stream
	}
	return bytes.NewReader(a.Response.Body())
}

type pageQueryKey struct{}

// pageQueryOf returns the query that a request is, nil for requests of clients.
func pageQueryOf(c *fiber.Ctx) *PageQuery {
	query, _ := c.Context().UserValue(pageQueryKey{}).(*PageQuery)
	return query
}

// Ask has the API answer as it answers a client, except that the principal is known: the same
// operations, roles, limits, logs and metrics. c is the page's own request.
func (s *Server) Ask(c *fiber.Ctx, query PageQuery) *PageAnswer {
	var inner fasthttp.RequestCtx
	inner.Init2(pageConn{remote: c.Context().RemoteAddr(), local: c.Context().LocalAddr()}, s.app.Server().Logger, true)
	inner.Request.Header.SetMethod(query.Method)
	inner.Request.SetRequestURI(s.links.API() + query.Target)
	inner.Request.Header.Set(requestIDHeader, RequestID(c.UserContext()))
	for _, forwarded := range c.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		inner.Request.Header.AddBytesV(fiber.HeaderXForwardedFor, forwarded)
	}
	if query.Body != nil {
		inner.Request.Header.SetContentType(query.ContentType)
		inner.SetUserValue(bodyKey{}, &framing.Body{Announcement: framing.Announcement{Length: len(query.Body)}, Stream: bytes.NewReader(query.Body)})
	}
	query.ctx = c.UserContext()
	inner.SetUserValue(pageQueryKey{}, &query)
	s.inner(&inner)
	return &PageAnswer{&inner.Response}
}

// pageConn is the connection of a request that came over none. Its body is in memory, so it needs no deadlines.
type pageConn struct {
	net.Conn
	remote, local net.Addr
}

func (c pageConn) RemoteAddr() net.Addr           { return c.remote }
func (c pageConn) LocalAddr() net.Addr            { return c.local }
func (pageConn) SetWriteDeadline(time.Time) error { return nil }
