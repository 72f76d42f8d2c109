package server

import (
	"context"
	"net/http"
	"net/url"

	"attestry/evidence"
)

// request is what the shell knows of the request under way. One goroutine at a
// time uses it: the one that serves the request.
type request struct {
	id     string
	method string
	// path is the path as it was sent, escapes and all.
	path string
	// route is the pattern of the operation, "" while none is known.
	route string
	// query holds the parameters as they were sent.
	query  url.Values
	header func(name string) string
	body   *requestBody
	// http11 tells that the client understands answers of unknown length.
	http11 bool
	// memory is what the request takes up, until its answer is sent.
	memory *memory
	// pace is how fast the client has to take a streamed answer that takes up memory.
	pace pace
	// answer is the answer, once it has begun.
	answer *jsonAnswer
	// findings are those of the parameters; the body's join them.
	findings  findings
	org       string
	principal evidence.Principal
	access    evidence.OrgAccess
}

type requestKey struct{}

// requestOf returns the request that ctx belongs to. Contexts from elsewhere
// have an empty one, so that callers need no second path.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{
		header: http.Header{}.Get, memory: unlimitedMemory(), pace: usualPace(),
	}
}

// principal returns whoever sent the request.
func principal(ctx context.Context) evidence.Principal { return requestOf(ctx).principal }

// access returns what the principal may do in the organization of the path.
func access(ctx context.Context) evidence.OrgAccess { return requestOf(ctx).access }

// requestID returns the id that the answer carries as X-Request-ID.
func requestID(ctx context.Context) string { return requestOf(ctx).id }

// given tells whether a query parameter was sent, be it empty: huma itself
// takes an empty one for absent.
func given(ctx context.Context, name string) bool {
	_, ok := requestOf(ctx).query[name]
	return ok
}

// sentText is the text of a query parameter as it was sent, for one that has a
// default: huma puts the default in the place of an empty text. The last one counts
// when a parameter is repeated; it is "" when none was sent.
func sentText(ctx context.Context, name string) string {
	values := requestOf(ctx).query[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}
