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

// Request is the state of a request under way. Only the goroutine that serves the request uses it.
type Request struct {
	// Request is what decides whether it is admitted.
	access.Request
	id     string
	method string
	// route is the pattern of the operation, "" while none is known.
	route string
	// query holds the parameters as they were sent.
	query  url.Values
	header func(name string) string
	Body   *framing.Body
	// http11 is set if the client understands answers of unknown length.
	http11 bool
	// Memory is what the request takes up, until its answer is sent.
	Memory *memory.Account
	// pace is how fast the client has to take a streamed answer that takes up memory.
	pace readRate
	// timeout bounds the work on the request, and then each read of what is sent of an answer that has begun.
	timeout time.Duration
	log     *slog.Logger
	// answer is the answer, once it has begun.
	answer *jsonAnswer
	// findings are those of the parameters; the body's join them.
	findings  validation.Findings
	principal evidence.Principal
	access    evidence.OrgAccess
	// rate is what the limits of requests have left.
	rate limits.State
}

type requestKey struct{}

// RequestOf returns the request that ctx belongs to. Contexts from elsewhere
// have an empty one, so that callers need no second path.
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

// Principal returns whoever sent the request.
func Principal(ctx context.Context) evidence.Principal { return RequestOf(ctx).principal }

// Access returns what the principal may do in the organization of the path.
func Access(ctx context.Context) evidence.OrgAccess { return RequestOf(ctx).access }

// RequestID returns the id that the answer carries as X-Request-ID.
func RequestID(ctx context.Context) string { return RequestOf(ctx).id }

// QueryError lists the parameters of the query that cannot be read; nil if all can. It is for pages and other paths
// that are no operations. Operations report these findings with all others.
func QueryError(ctx context.Context) error { return validation.Invalid(RequestOf(ctx).findings) }

// QueryHas reports whether a query parameter was sent, be it empty: huma itself takes an empty one for absent.
func QueryHas(ctx context.Context, name string) bool {
	_, ok := RequestOf(ctx).query[name]
	return ok
}

// SentText is the text of a query parameter as it was sent, "" if it was not. For a parameter with a default, huma
// replaces an empty text by the default. The last one counts when a parameter is repeated.
func SentText(ctx context.Context, name string) string {
	values := RequestOf(ctx).query[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}
