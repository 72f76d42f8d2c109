package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
)

// firstRead is how much of a stream is read before the status is chosen.
const firstRead = 32 << 10

// Download is something to be sent without holding all of it.
type Download struct {
	ContentType string
	// Filename makes the answer an attachment of that name; "" does not.
	Filename string
	// Size is in bytes, -1 when unknown. Only what has a size has ranges.
	Size int64
	// Memory is what the download takes up until it is sent, in bytes.
	Memory int64
	// Open gives length bytes from offset on; a length of -1 means to the end. Its
	// context outlives the request, until the reader is closed; but the request's end
	// cancels it as long as nothing was read.
	Open func(ctx context.Context, offset, length int64) (io.ReadCloser, error)
	// Verify makes answers without a body, of which Open is not asked, fail as those
	// with a body would; nil where there is nothing to verify.
	Verify func(ctx context.Context) error
}

// StreamOutput is the answer of an operation that streams.
type StreamOutput struct {
	Body func(huma.Context)
}

// Stream answers with a download, or with the part of it that a Range header
// asks for. What goes wrong up to the first bytes is an error like any other;
// later, the connection breaks off, so that nobody takes a part for the whole.
func Stream(ctx context.Context, d Download) (*StreamOutput, error) {
	r := RequestOf(ctx)
	part, err := partOf(r, d.Size)
	if err != nil {
		return nil, err
	}
	var content io.ReadCloser = http.NoBody
	switch {
	case r.method != http.MethodHead && part.length != 0:
		if err = r.Memory.Hold(d.Memory); err == nil {
			content, err = openPart(ctx, d, part)
		}
	case d.Verify != nil:
		err = d.Verify(ctx)
	}
	if err != nil {
		return nil, err
	}
	return &StreamOutput{Body: func(hctx huma.Context) {
		if content != http.NoBody && d.Memory > 0 {
			content = newMinRateReader(content, content, humafiber.Unwrap(hctx).Context().Conn(), r.pace)
		}
		send(hctx, d, part, content)
	}}, nil
}

func send(ctx huma.Context, d Download, part span, content io.ReadCloser) {
	ctx.SetHeader("Content-Type", d.ContentType)
	if d.Filename != "" {
		ctx.SetHeader("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.Filename}))
	}
	ctx.SetStatus(http.StatusOK)
	if d.Size >= 0 {
		ctx.SetHeader("Accept-Ranges", "bytes")
	}
	if part.partial {
		ctx.SetHeader("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.offset, part.offset+part.length-1, d.Size))
		ctx.SetStatus(http.StatusPartialContent)
	}
	if content == http.NoBody && part.length < 0 {
		// A HEAD: fasthttp would write the end of a stream of unknown size behind it.
		return
	}
	humafiber.Unwrap(ctx).Context().SetBodyStream(content, int(part.length))
}

// openPart opens a part and reads its beginning.
func openPart(request context.Context, d Download, part span) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(request))
	release := context.AfterFunc(request, cancel)
	content, err := d.Open(ctx, part.offset, part.length)
	if err != nil {
		cancel()
		return nil, errors.Join(err, request.Err())
	}
	opened := &openedPart{content: content, cancel: cancel, release: RequestOf(ctx).Memory.Release}
	beginning := make([]byte, firstRead)
	n, err := io.ReadAtLeast(content, beginning, 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, request.Err(), opened.Close())
	}
	if !release() {
		return nil, errors.Join(request.Err(), opened.Close())
	}
	opened.Reader = io.MultiReader(bytes.NewReader(beginning[:n]), content)
	return opened, nil
}

// openedPart is a stream on its way out, with the context it lives by.
type openedPart struct {
	io.Reader
	content io.Closer
	cancel  context.CancelFunc
	release func()
}

// Close closes the stream, ends its context, and releases its memory.
func (o *openedPart) Close() error {
	defer o.release()
	defer o.cancel()
	return o.content.Close()
}

// span is a part of a download; a length of -1 means to an unknown end.
type span struct {
	offset, length int64
	partial        bool
}

// partOf reads the Range header. Forms that it does not know, several ranges
// among them, mean the whole, as RFC 9110 allows.
func partOf(r *Request, size int64) (span, error) {
	whole := span{length: size}
	unit, ranges, ok := strings.Cut(r.header("Range"), "=")
	if size < 0 || !ok || strings.TrimSpace(unit) != "bytes" || r.header("If-Range") != "" {
		return whole, nil
	}
	first, last, ok := strings.Cut(strings.TrimSpace(ranges), "-")
	if !ok {
		return whole, nil
	}
	from, fromErr := strconv.ParseUint(first, 10, 63)
	to, toErr := strconv.ParseUint(last, 10, 63)
	switch {
	case first == "" && toErr == nil:
		return within(max(size-int64(to), 0), size-1, size)
	case fromErr == nil && last == "":
		return within(int64(from), size-1, size)
	case fromErr == nil && toErr == nil && from <= to:
		return within(int64(from), min(int64(to), size-1), size)
	default:
		return whole, nil
	}
}

func within(first, last, size int64) (span, error) {
	if first > last {
		p := newProblem(http.StatusRequestedRangeNotSatisfiable, "The requested range lies outside the content")
		p.headers.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		return span{}, p
	}
	return span{offset: first, length: last - first + 1, partial: true}, nil
}
