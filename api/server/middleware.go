package server

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"attestry/api/access"
	"attestry/api/framing"
	"attestry/api/memory"
	"attestry/api/representation"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/process/redact"
	"attestry/storage"
	"attestry/trace"
)

const (
	requestIDHeader = "X-Request-ID"
	// maxRequestID bounds an id taken from a client, in characters.
	maxRequestID = 128
)

// observe makes the Request of a request, turns errors into answers, and logs, traces and measures the request.
func (s *Server) observe(c *fiber.Ctx) error {
	began := time.Now()
	if query := pageQueryOf(c); query != nil {
		c.SetUserContext(query.ctx)
	}
	c.SetUserContext(redact.With(trace.With(c.UserContext(), trace.Parse(c.Get("traceparent"))), access.Credentials(c.Get(fiber.HeaderAuthorization))...))
	r := newRequest(c)
	traced, span := trace.Start(c.UserContext(), trace.Server, r.method)
	r.Memory, r.pace, r.timeout, r.log = memory.NewAccount(s.budget), s.pace, s.RequestTimeout, s.Logger
	defer func() {
		if !c.Response().IsBodyStream() {
			r.Memory.Release()
		}
	}()
	ctx := context.WithValue(traced, requestKey{}, r)
	if r.method == fiber.MethodGet || r.method == fiber.MethodHead {
		// Do not charge the reads of other methods: a write must not fail halfway for lack of memory.
		ctx = storage.WithCharge(ctx, r.Memory.Charge)
	}
	c.SetUserContext(ctx)
	c.Set(requestIDHeader, r.id)
	s.metrics.inFlight.Inc()
	if err := s.protect(c); err != nil {
		c.Response().ResetBody()
		s.problemOf(c.UserContext(), err).write(c.Response())
	}
	representation.CompressJSON(c.Context())
	setSecurityHeaders(&c.Response().Header)
	took := time.Since(began)
	s.metrics.requestFinished(r, c.Response().StatusCode(), took)
	s.Logger.LogAttrs(c.UserContext(), slog.LevelInfo, "request",
		slog.String("request_id", r.id),
		slog.String("method", r.method),
		slog.String("route", r.route),
		slog.String("org", r.Org),
		slog.String("user", r.principal.Name),
		slog.Int("status", c.Response().StatusCode()),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
	)
	endSpan(span, r, c.Response().StatusCode())
	return nil
}

// endSpan ends the span of a request. Its attributes have no values that the client chose.
func endSpan(span trace.Span, r *Request, status int) {
	attrs := []slog.Attr{slog.String("http.request.method", r.method), slog.Int("http.response.status_code", status)}
	if r.route != "" {
		span.SetName(r.method + " " + r.route)
		attrs = append(attrs, slog.String("http.route", r.route))
	}
	if r.access.OrgID != "" {
		attrs = append(attrs, slog.String("attestry.organization.id", r.access.OrgID))
	}
	span.End(status >= fiber.StatusInternalServerError, attrs...)
}

func newRequest(c *fiber.Ctx) *Request {
	uri := c.Request().URI()
	found := validation.Findings{}
	body, _ := c.Context().UserValue(bodyKey{}).(*framing.Body)
	r := &Request{
		Request: access.Request{
			From: originOf(c), Authorization: c.Get(fiber.HeaderAuthorization), Path: string(uri.PathOriginal()),
		},
		id:     requestIDOf(c.UserContext(), c.Get(requestIDHeader)),
		method: c.Method(),
		query:  validation.ParseQuery(string(uri.QueryString()), found),
		header: func(name string) string { return c.Get(name) },
		Body:   body,
		http11: c.Request().Header.IsHTTP11(),

		findings: found,
	}
	// Ignore the certificate if there is an Origin: browsers also send it with requests of pages of other sites.
	if r.Authorization == "" && c.Get(fiber.HeaderOrigin) == "" {
		r.Certificate = framing.ClientCertificate(c.Context().Conn())
	}
	if query := pageQueryOf(c); query != nil {
		r.SignedIn = &query.Principal
	}
	return r
}

// requestIDOf returns the client's request id, or a new one if the client's is unfit for logs or contains a key.
func requestIDOf(ctx context.Context, sent string) string {
	unfit := strings.ContainsFunc(sent, func(char rune) bool { return char <= ' ' || char > '~' })
	if sent != "" && len(sent) <= maxRequestID && !unfit && redact.Text(ctx, sent) == sent {
		return sent
	}
	return evidence.NewID()
}

// protect sets the deadline of a request and turns a panic into an error.
func (s *Server) protect(c *fiber.Ctx) (err error) {
	ctx, cancel := context.WithTimeout(c.UserContext(), s.RequestTimeout)
	defer cancel()
	c.SetUserContext(ctx)
	defer func() {
		if fault := recover(); fault != nil {
			s.Logger.ErrorContext(ctx, "panic", slog.String("request_id", RequestID(ctx)),
				slog.Any("panic", fault), slog.String("stack", string(debug.Stack())))
			err = newProblem(fiber.StatusInternalServerError, internalMessage)
		}
	}()
	return c.Next()
}

// setSecurityHeaders forbids content sniffing, and caching unless the answer has set Cache-Control.
func setSecurityHeaders(header *fasthttp.ResponseHeader) {
	header.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	if len(header.Peek(fiber.HeaderCacheControl)) == 0 {
		header.Set(fiber.HeaderCacheControl, "no-store")
	}
}

// fail is fiber's error handler. It answers requests that fiber cannot parse, which never reach observe.
func (s *Server) fail(c *fiber.Ctx, err error) error {
	s.reject(c.Context(), s.problemOf(c.UserContext(), err))
	framing.LingerBriefly(c.Context().Conn())
	return nil
}

// anonymousTimeout bounds the arrival of a body without a valid key.
const anonymousTimeout = 10 * time.Second

type bodyKey struct{}

// guard refuses requests with ambiguous framing or an unknown method, and prevents the unread rest of a body from being
// parsed as the next request: a short rest is discarded, after a longer one the connection is closed. It wraps fiber,
// so that it also applies to answers that fiber makes itself.
func (s *Server) guard(methods []string, next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		announced, err := framing.Check(&ctx.Request.Header)
		if err != nil {
			s.reject(ctx, newProblem(fasthttp.StatusBadRequest, "The request is malformed: "+err.Error()))
			ctx.SetConnectionClose()
			framing.LingerBriefly(ctx.Conn())
			return
		}
		body := &framing.Body{Announcement: announced, Stream: ctx.RequestBodyStream(), Conn: ctx.Conn(), AnonymousTimeout: s.anonymousTimeout}
		ctx.SetUserValue(bodyKey{}, body)
		if slices.Contains(methods, string(ctx.Method())) {
			next(ctx)
		} else {
			// fiber would answer in plain text, without the middleware.
			s.reject(ctx, newProblem(fasthttp.StatusNotImplemented, "The request method is unknown"))
		}
		if !body.Finish() {
			ctx.SetConnectionClose()
		}
	}
}

// reject answers, logs and counts a request that does not reach the middleware.
func (s *Server) reject(ctx *fasthttp.RequestCtx, p *problem) {
	header := &ctx.Request.Header
	private := redact.With(ctx, access.Credentials(string(header.Peek(fiber.HeaderAuthorization)))...)
	id := requestIDOf(private, string(header.Peek(requestIDHeader)))
	ctx.Response.Header.Set(requestIDHeader, id)
	setSecurityHeaders(&ctx.Response.Header)
	p.write(&ctx.Response)
	s.metrics.rejected.WithLabelValues(strconv.Itoa(p.status)).Inc()
	s.Logger.LogAttrs(private, slog.LevelInfo, "request rejected",
		slog.String("request_id", id),
		slog.Int("status", p.status),
		slog.String("reason", p.Message),
	)
}
