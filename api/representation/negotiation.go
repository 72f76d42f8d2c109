package representation

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// NegotiateGzip reports whether an answer is to be compressed, and says so in its head.
func NegotiateGzip(ctx *fasthttp.RequestCtx) bool {
	header := &ctx.Response.Header
	header.Set(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
	if !AcceptsGzip(string(ctx.Request.Header.Peek(fasthttp.HeaderAcceptEncoding))) {
		return false
	}
	header.SetContentEncoding("gzip")
	return true
}

// CompressJSON compresses an answer of JSON that is sent as a whole, if it is worth it. Clients of HTTP/1.0
// get it as it is: theirs may be so large that the memory for both forms is not there.
func CompressJSON(ctx *fasthttp.RequestCtx) {
	response := &ctx.Response
	if !ctx.Request.Header.IsHTTP11() || response.IsBodyStream() || len(response.Body()) < MinGzip {
		return
	}
	if !bytes.HasPrefix(response.Header.ContentType(), []byte("application/json")) || len(response.Header.ContentEncoding()) > 0 {
		return
	}
	if NegotiateGzip(ctx) {
		response.SetBodyRaw(Gzip(response.Body()))
	}
}
