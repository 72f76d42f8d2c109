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
	// MinGzip is the least content that is worth compressing, in bytes.
	MinGzip = 4 << 10
	// gzipChunk is how much of a stream is compressed at a time, in bytes.
	gzipChunk = 32 << 10
)

// AcceptsGzip reports whether a client with this Accept-Encoding takes gzip, and does not prefer content as it is.
func AcceptsGzip(acceptEncoding string) bool {
	weights := map[string]float64{}
	for one := range strings.SplitSeq(strings.ToLower(acceptEncoding), ",") {
		coding, parameters, _ := strings.Cut(one, ";")
		weight := 1.0
		if text, ok := strings.CutPrefix(strings.TrimSpace(parameters), "q="); ok {
			// What is no number is 0, so that content stays as it is.
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
	// A buffer takes all that is written.
	_, _ = w.Write(content)
	_ = w.Close()
	return compressed.Bytes()
}

// newWriter makes a writer that keeps no memory between writes: a client that reads slowly, as thousands may at once,
// must not hold the state of a compressor, which is most of a megabyte.
func newWriter(w io.Writer) *gzip.Writer {
	// The level is one that there is.
	compressor, _ := gzip.NewWriterLevel(w, gzip.StatelessCompression)
	return compressor
}

// GzipReader compresses content as it is read. If reading fails, its end is missing, so that nobody takes a
// part for the whole.
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
