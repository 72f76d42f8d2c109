package server

import (
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"attestry/api/access"
	"attestry/api/framing"
	"attestry/process/redact"
)

// strangerTimeout bounds the arrival of a body that comes without a good key.
const strangerTimeout = 10 * time.Second

type bodyKey struct{}

// guard refuses requests whose framing is doubtful or whose method is unknown, and
// keeps what a handler left of a body from being read as the next request: little is
// read away, for more the connection is closed. It stands before fiber, so that no
// answer of fiber's own passes it by.
func (s *Server) guard(methods []string, next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		announced, err := framing.Check(&ctx.Request.Header)
		if err != nil {
			s.reject(ctx, newProblem(fasthttp.StatusBadRequest, "The request is malformed: "+err.Error()))
			ctx.SetConnectionClose()
			framing.LingerBriefly(ctx.Conn())
			return
		}
		body := &framing.Body{Announcement: announced, Stream: ctx.RequestBodyStream(), Conn: ctx.Conn(), StrangerTimeout: s.strangerTimeout}
		ctx.SetUserValue(bodyKey{}, body)
		if slices.Contains(methods, string(ctx.Method())) {
			next(ctx)
		} else {
			// fiber would answer it as plain text, past all middleware.
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
	s.logger.LogAttrs(private, slog.LevelInfo, "request rejected",
		slog.String("request_id", id),
		slog.Int("status", p.status),
		slog.String("reason", p.Message),
	)
}
