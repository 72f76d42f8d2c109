package server

import (
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"attestry/api/access"
	"attestry/api/framing"
	"attestry/process/redact"
)

const (
	// maxDrained is how much of an unread body is worth reading to keep the
	// connection.
	maxDrained = 64 << 10
	// drainTimeout bounds how long an answer waits for the rest of a body.
	drainTimeout = time.Second
	// lingerTimeout and maxLingered bound how long, and for how much, a closing
	// connection still takes what the client sends.
	lingerTimeout = 2 * time.Second
	maxLingered   = 64 * Mebibyte
)

type bodyKey struct{}

// guard refuses requests whose framing is doubtful or whose method is unknown, and
// keeps what a handler left of a body from being read as the next request: little is
// read away, for more the connection is closed. It stands before fiber, so that no
// answer of fiber's own passes it by.
func (s *Server) guard(methods []string, next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if err := framing.Check(&ctx.Request.Header); err != nil {
			s.reject(ctx, newProblem(fasthttp.StatusBadRequest, "The request is malformed: "+err.Error()))
			closeConnection(ctx)
			return
		}
		body := &requestBody{stream: ctx.RequestBodyStream(), Length: ctx.Request.Header.ContentLength()}
		ctx.SetUserValue(bodyKey{}, body)
		if slices.Contains(methods, string(ctx.Method())) {
			next(ctx)
		} else {
			// fiber would answer it as plain text, past all middleware.
			s.reject(ctx, newProblem(fasthttp.StatusNotImplemented, "The request method is unknown"))
		}
		if !drained(ctx, body) {
			closeConnection(ctx)
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

// closeConnection closes the connection behind the answer.
func closeConnection(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	linger(ctx.Conn())
}

func drained(ctx *fasthttp.RequestCtx, body *requestBody) bool {
	if body.stream == nil || body.ended {
		return true
	}
	if err := ctx.Conn().SetReadDeadline(time.Now().Add(drainTimeout)); err != nil {
		return false
	}
	return body.drain(maxDrained)
}

// lingeringListener hands out connections that can be told to linger.
type lingeringListener struct{ net.Listener }

func (l lingeringListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingeringConn{Conn: conn}, nil
}

// lingeringConn takes what the client still sends before it closes. Closed at
// once, the kernel would answer such bytes with a reset, and the client could
// lose our answer before reading it.
type lingeringConn struct {
	net.Conn
	lingers bool
}

func linger(conn net.Conn) {
	if conn, ok := conn.(*lingeringConn); ok {
		conn.lingers = true
	}
}

func (c *lingeringConn) Close() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.lingers {
		c.lingers = false
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(lingerTimeout)) == nil {
			// Whether the client stops or time is up, the connection ends.
			_, _ = io.CopyN(io.Discard, c.Conn, maxLingered)
		}
	}
	return c.Conn.Close()
}
