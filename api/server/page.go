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
)

// ServePage serves a page for people. Its path, with parameters after colons, is the route in logs and metrics.
func (s *Server) ServePage(method, path string, serve ...fiber.Handler) {
	nameRoute := func(c *fiber.Ctx) error {
		RequestOf(c.UserContext()).route = path
		return c.Next()
	}
	headRouter{s.app}.Add(method, path, append([]fiber.Handler{nameRoute}, serve...)...)
}

// ServeOtherPages registers serve for GET requests that accept HTML, at paths outside /api that nothing else serves.
// It must be called after all other paths are registered. Other requests get the answer of the API.
func (s *Server) ServeOtherPages(serve fiber.Handler) {
	s.app.Use(func(c *fiber.Ctx) error {
		read := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
		if !read || strings.HasPrefix(c.Path()+"/", "/api/") || !strings.Contains(c.Get(fiber.HeaderAccept), fiber.MIMETextHTML) {
			return c.Next()
		}
		RequestOf(c.UserContext()).route = "/*"
		return serve(c)
	})
}

// serveOwn serves a path that is neither an operation nor a page, such as /ready.
func (s *Server) serveOwn(path string, serve fiber.Handler) {
	s.ServePage(fiber.MethodGet, path, func(c *fiber.Ctx) error {
		if err := QueryError(c.UserContext()); err != nil {
			return err
		}
		return serve(c)
	})
}

// ReadForm reads the form of a page, of at most limit bytes, into fiber's request. fiber itself would read and
// decompress it without a limit.
func (*Server) ReadForm(c *fiber.Ctx, limit int64) error {
	form, err := readBody(c.UserContext(), limit)
	if err != nil {
		return err
	}
	c.Request().SetBody(form)
	return nil
}

// Explain returns the answer to an error as status, text and headers. It logs errors that the text does not explain.
func (s *Server) Explain(ctx context.Context, err error) (status int, sentence string, head http.Header) {
	p := s.problemOf(ctx, err)
	sentence = p.Message
	for _, at := range slices.Sorted(maps.Keys(p.Errors)) {
		sentence += "; " + at + ": " + p.Errors[at]
	}
	return p.status, sentence, p.headers
}

// recognizeSession sets the user of the session, for requests without an Authorization header. Sessions authorize only
// reads, as another site could make the browser send a write.
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

// Operation describes an operation of the API for pages.
type Operation struct {
	Route
	Parameters []*huma.Param
	// Body is nil if the request has none.
	Body     *huma.RequestBody
	registry huma.Registry
}

// Operation returns the operation with an id.
func (s *Server) Operation(id string) (found Operation, ok bool) {
	found, ok = s.operations[id]
	return found, ok
}

// Check returns an error if a principal with this access may not call the operation.
func (o *Operation) Check(principal evidence.Principal, org evidence.OrgAccess) error {
	return o.rule().Check(principal, org)
}

// Resolve returns the schema that another one refers to.
func (o *Operation) Resolve(schema *huma.Schema) *huma.Schema {
	for schema.Ref != "" {
		schema = o.registry.SchemaFromRef(schema.Ref)
	}
	return schema
}

// PageQuery is a request to the API that a page makes for the signed-in user.
type PageQuery struct {
	Principal evidence.Principal
	Method    string
	// Target is the path below /api/v2, with its query.
	Target      string
	ContentType string
	Body        []byte
	// ctx is the context of the page's request; Ask sets it.
	ctx context.Context
}

// PageAnswer is the answer of the API to a PageQuery. The caller must close its body stream.
type PageAnswer struct{ *fasthttp.Response }

// Header returns a header field of the answer.
func (a *PageAnswer) Header(name string) string { return string(a.Response.Header.Peek(name)) }

// Body returns the content of the answer. A read error means that it is incomplete.
func (a *PageAnswer) Body() io.Reader {
	if stream := a.BodyStream(); stream != nil {
		return stream
	}
	return bytes.NewReader(a.Response.Body())
}

type pageQueryKey struct{}

// pageQueryOf returns the query of a request made by Ask, nil for requests of clients.
func pageQueryOf(c *fiber.Ctx) *PageQuery {
	query, _ := c.Context().UserValue(pageQueryKey{}).(*PageQuery)
	return query
}

// Ask sends a query to the API within the process. It is handled like a client's request (operations, roles, limits,
// logs, metrics), except that the principal is given. c is the page's request.
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

// pageConn is the connection of a request made by Ask. Its body is in memory, so it needs no deadlines.
type pageConn struct {
	net.Conn
	remote, local net.Addr
}

func (c pageConn) RemoteAddr() net.Addr           { return c.remote }
func (c pageConn) LocalAddr() net.Addr            { return c.local }
func (pageConn) SetWriteDeadline(time.Time) error { return nil }
