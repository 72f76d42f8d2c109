package server

import (
	"bytes"
	"io"
	"net"
	"slices"
	"time"

	"github.com/valyala/fasthttp"
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
	maxLingered   = 64 * mebibyte
)

// chunked is what fasthttp gives as the length of a body that comes in chunks.
const chunked = -1

type bodyKey struct{}

// guardBody keeps what a handler left of a body from being read as the next
// request: little is read away, for more the connection is closed. It stands
// before fiber, so that no answer of fiber's own passes it by.
func guardBody(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		body := &requestBody{stream: ctx.RequestBodyStream(), length: ctx.Request.Header.ContentLength()}
		ctx.SetUserValue(bodyKey{}, body)
		next(ctx)
		if ambiguous(&ctx.Request.Header) || !drained(ctx, body) {
			ctx.SetConnectionClose()
			linger(ctx.Conn())
		}
	}
}

// knownMethods answers requests whose method fiber does not know, which it would
// answer as plain text and past all middleware.
func knownMethods(methods []string, next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if slices.Contains(methods, string(ctx.Method())) {
			next(ctx)
			return
		}
		ctx.SetStatusCode(fasthttp.StatusNotImplemented)
		ctx.SetContentType("application/json")
		ctx.SetBodyString(`{"message":"The request method is unknown"}`)
	}
}

// ambiguous tells a request in chunks that states a length as well: a proxy and
// we may not agree on where it ends. fasthttp forgets the length, so it is looked
// for in the bytes that came.
func ambiguous(header *fasthttp.RequestHeader) bool {
	if header.ContentLength() != chunked {
		return false
	}
	for line := range bytes.Lines(header.RawHeaders()) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(bytes.TrimSpace(name), []byte(fasthttp.HeaderContentLength)) {
			return true
		}
	}
	return false
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
