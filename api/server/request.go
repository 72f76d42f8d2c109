package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"attestry/api/access"
	"attestry/api/framing"
	"attestry/api/limits"
	"attestry/api/memory"
	"attestry/api/validation"
	"attestry/evidence"
)

// Request is the state of a request in flight. Only the goroutine that serves the request uses it.
type Request struct {
	// Request is the input of the access check.
	access.Request
	id     string
	method string
	// route is the pattern of the operation, "" while none is known.
	route string
	// query holds the parameters as they were sent.
	query  url.Values
	header func(name string) string
	Body   *framing.Body
	// http11 is set if the client accepts answers of unknown length.
	http11 bool
	// Memory accounts for the memory of the request until its answer is sent.
	Memory *memory.Account
	// pace is the minimum rate at which the client must read a streamed answer that takes up memory.
	pace readRate
	// timeout bounds the work on the request, and each read of a streamed answer after its beginning.
	timeout time.Duration
	log     *slog.Logger
	// answer is set by beginAnswer.
	answer *jsonAnswer
	// findings are those of the parameters, and then also of the body.
	findings  validation.Findings
	principal evidence.Principal
	access    evidence.OrgAccess
	// rate is the state of the rate limit.
	rate limits.State
}

type requestKey struct{}

// RequestOf returns the request of ctx, an empty one if ctx has none, so that callers need not check.
func RequestOf(ctx context.Context) *Request {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		return r
	}
	return &Request{
		header: http.Header{}.Get, Memory: memory.Unlimited(), pace: defaultReadRate(),
		timeout: defaultRequestTimeout, log: slog.New(slog.DiscardHandler),
	}
}

func originOf(c *fiber.Ctx) limits.Origin {
	var from limits.Origin
	if peer, ok := c.Context().RemoteAddr().(*net.TCPAddr); ok {
		from.Peer = peer.AddrPort().Addr()
	}
	for _, value := range c.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		from.ForwardedFor = append(from.ForwardedFor, string(value))
	}
	return from
}

// Principal returns the authenticated sender of the request.
func Principal(ctx context.Context) evidence.Principal { return RequestOf(ctx).principal }

// Access returns what the principal may do in the organization of the path.
func Access(ctx context.Context) evidence.OrgAccess { return RequestOf(ctx).access }

// RequestID returns the id that the answer carries as X-Request-ID.
func RequestID(ctx context.Context) string { return RequestOf(ctx).id }

// QueryError returns the findings of parsing the query, nil if there are none. It is for pages and other paths that are
// no operations. Operations answer these findings with all others.
func QueryError(ctx context.Context) error { return validation.Invalid(RequestOf(ctx).findings) }

// QueryHas reports whether a query parameter was sent, even if empty, which huma treats as absent.
func QueryHas(ctx context.Context, name string) bool {
	_, ok := RequestOf(ctx).query[name]
	return ok
}

// SentText returns a query parameter as it was sent, "" if it is absent. huma would replace an empty text by the
// default. The last value of a repeated parameter counts.
func SentText(ctx context.Context, name string) string {
	values := RequestOf(ctx).query[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}
