package representation

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/valyala/fasthttp"
)

const (
	// MinGzip is the minimum size of content that is compressed, in bytes.
	MinGzip = 4 << 10
	// gzipChunk is the size of the chunks in which a stream is compressed, in bytes.
	gzipChunk = 32 << 10
)

// AcceptsGzip reports whether a client with this Accept-Encoding accepts gzip and does not prefer identity.
func AcceptsGzip(acceptEncoding string) bool {
	weights := map[string]float64{}
	for one := range strings.SplitSeq(strings.ToLower(acceptEncoding), ",") {
		coding, parameters, _ := strings.Cut(one, ";")
		weight := 1.0
		if text, ok := strings.CutPrefix(strings.TrimSpace(parameters), "q="); ok {
			// An invalid number becomes 0, so that the content is not compressed.
			weight, _ = strconv.ParseFloat(strings.TrimSpace(text), 64)
		}
		weights[strings.TrimSpace(coding)] = weight
	}
	weight, ok := weights["gzip"]
	if !ok {
		weight = weights["*"]
	}
	return weight > 0 && weight >= weights["identity"]
}

// Gzip compresses content.
func Gzip(content []byte) []byte {
	var compressed bytes.Buffer
	w := newWriter(&compressed)
	// Writes to a bytes.Buffer do not fail.
	_, _ = w.Write(content)
	_ = w.Close()
	return compressed.Bytes()
}

// newWriter makes a writer without state between writes. Thousands of slow clients may read at once, and the state of a
// normal compressor is almost a megabyte.
func newWriter(w io.Writer) *gzip.Writer {
	// The only error is an invalid level.
	compressor, _ := gzip.NewWriterLevel(w, gzip.StatelessCompression)
	return compressor
}

// GzipReader compresses content as it is read. If reading fails, the gzip trailer is missing, so clients detect that
// the content is incomplete.
type GzipReader struct {
	content    io.Reader
	chunk      []byte
	compressed bytes.Buffer
	compressor *gzip.Writer
	err        error
}

// NewGzipReader makes a reader of compressed content.
func NewGzipReader(content io.Reader) *GzipReader {
	r := &GzipReader{content: content, chunk: make([]byte, gzipChunk)}
	r.compressor = newWriter(&r.compressed)
	return r
}

// Read reads compressed content.
func (r *GzipReader) Read(p []byte) (int, error) {
	for r.compressed.Len() == 0 && r.err == nil {
		r.err = r.compress()
	}
	if r.compressed.Len() > 0 {
		return r.compressed.Read(p)
	}
	return 0, r.err
}

func (r *GzipReader) compress() error {
	n, err := 0, error(nil)
	for n < len(r.chunk) && err == nil {
		var more int
		more, err = r.content.Read(r.chunk[n:])
		n += more
	}
	if n > 0 {
		if _, failed := r.compressor.Write(r.chunk[:n]); failed != nil {
			return failed
		}
	}
	if errors.Is(err, io.EOF) {
		if failed := r.compressor.Close(); failed != nil {
			return failed
		}
	}
	return err
}

// NegotiateGzip reports whether the response must be compressed, and sets its Vary and Content-Encoding headers.
func NegotiateGzip(ctx *fasthttp.RequestCtx) bool {
	header := &ctx.Response.Header
	header.Set(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
	if !AcceptsGzip(string(ctx.Request.Header.Peek(fasthttp.HeaderAcceptEncoding))) {
		return false
	}
	header.SetContentEncoding("gzip")
	return true
}

// CompressJSON compresses a JSON response that is not streamed, if it has at least MinGzip bytes. Responses to HTTP/1.0
// are not compressed: they may be so large that the memory for both forms is not available.
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
