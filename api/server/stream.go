package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"mime"
	"net"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"

	"attestry/api/representation"
)

// firstRead is how much of a stream is read at most before the status is chosen, in bytes.
const firstRead = 32 << 10

// Download is content that is streamed, without holding all of it in memory.
type Download struct {
	ContentType string
	// Encoding is the Content-Encoding, "" for none.
	Encoding string
	// Filename makes the answer an attachment, unless it is "".
	Filename string
	// Size is in bytes, -1 if unknown. Ranges need a known size.
	Size int64
	// SHA256 is the hexadecimal digest of the content, from which the ETag is made; "" if unknown.
	SHA256 string
	// Memory is the memory that the download takes up until it is sent, in bytes.
	Memory int64
	// Open returns length bytes from offset on; a length of -1 means to the end. Its context is valid until the reader
	// is closed. It is canceled if the request ends before the first bytes are read, or if a later read exceeds the
	// request timeout.
	Open func(ctx context.Context, offset, length int64) (io.ReadCloser, error)
	// Verify returns the error that Open would return, for answers without a body. nil if Open cannot fail.
	Verify func(ctx context.Context) error
}

// StreamOutput is the answer of an operation that streams.
type StreamOutput struct {
	Body func(huma.Context)
}

// Stream answers with a download, or with the part of it that a Range header selects. An error before the first bytes
// is answered like any other. A later one closes the connection, so that the client sees that the answer is incomplete.
func Stream(ctx context.Context, d Download) (*StreamOutput, error) {
	r := RequestOf(ctx)
	switch representation.Precondition(r.header, d.tag()) {
	case http.StatusNotModified:
		return &StreamOutput{Body: func(ctx huma.Context) {
			d.setContentHeaders(ctx)
			ctx.SetStatus(http.StatusNotModified)
		}}, nil
	case http.StatusPreconditionFailed:
		return nil, newProblem(http.StatusPreconditionFailed, preconditionMessage)
	}
	part, ok := representation.Part(r.method, r.header, d.Size, d.tag())
	if !ok {
		p := newProblem(http.StatusRequestedRangeNotSatisfiable, "The requested range lies outside the content")
		p.headers.Set("Content-Range", fmt.Sprintf("bytes */%d", d.Size))
		return nil, p
	}
	var err error
	var content io.ReadCloser = http.NoBody
	switch {
	case r.method != http.MethodHead && part.Length != 0:
		if err = r.Memory.Hold(d.Memory); err == nil {
			content, err = openPart(ctx, d, part)
		}
	case d.Verify != nil:
		err = d.Verify(ctx)
	}
	if err == nil && content != http.NoBody && part.Length < 0 && !r.http11 {
		content, part.Length, err = r.readWhole(content)
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

// readWhole reads content of unknown length, for clients that need its length because they do not know chunks.
func (r *Request) readWhole(content io.ReadCloser) (io.ReadCloser, int64, error) {
	text, err := r.Memory.ReadAll(content, math.MaxInt)
	if err != nil {
		return nil, 0, errors.Join(err, content.Close())
	}
	return readCloser{bytes.NewReader(text), content}, int64(len(text)), nil
}

// readCloser is content, and what is closed after it.
type readCloser struct {
	io.Reader
	io.Closer
}

func (d *Download) tag() string {
	if d.SHA256 == "" {
		return ""
	}
	return representation.Tag(d.SHA256)
}

func (d *Download) setContentHeaders(ctx huma.Context) {
	if d.SHA256 != "" {
		ctx.SetHeader("ETag", d.tag())
	}
	if d.Encoding != "" {
		ctx.SetHeader("Content-Encoding", d.Encoding)
	}
}

func send(ctx huma.Context, d Download, part representation.Span, content io.ReadCloser) {
	ctx.SetHeader("Content-Type", d.ContentType)
	if d.Filename != "" {
		ctx.SetHeader("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.Filename}))
	}
	d.setContentHeaders(ctx)
	ctx.SetStatus(http.StatusOK)
	if d.Size >= 0 {
		ctx.SetHeader("Accept-Ranges", "bytes")
	}
	if part.Partial {
		ctx.SetHeader("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.Offset, part.Offset+part.Length-1, d.Size))
		ctx.SetStatus(http.StatusPartialContent)
	}
	if content == http.NoBody && part.Length < 0 {
		return // To a HEAD, fasthttp would send the last chunk of a stream of unknown size.
	}
	humafiber.Unwrap(ctx).Context().SetBodyStream(content, int(part.Length))
}

// openPart opens a part and reads its beginning.
func openPart(request context.Context, d Download, part representation.Span) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(request))
	release := context.AfterFunc(request, cancel)
	content, err := d.Open(ctx, part.Offset, part.Length)
	if err != nil {
		cancel()
		return nil, errors.Join(err, request.Err())
	}
	rest := newRestOfAnswer(request, content, cancel)
	beginning := make([]byte, firstRead)
	n, err := io.ReadAtLeast(content, beginning, 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, request.Err(), rest.Close())
	}
	if !release() {
		return nil, errors.Join(request.Err(), rest.Close())
	}
	return readCloser{io.MultiReader(bytes.NewReader(beginning[:n]), rest), rest}, nil
}

// restOfAnswer is the rest of a begun answer. It is read after the request has ended, with another context.
type restOfAnswer struct {
	io.ReadCloser
	ctx     context.Context // of the request
	request *Request
	cancel  context.CancelFunc
	timer   *time.Timer
}

// newRestOfAnswer returns the rest of an answer to the request of ctx. cancel cancels the context of its reads.
func newRestOfAnswer(ctx context.Context, content io.ReadCloser, cancel context.CancelFunc) *restOfAnswer {
	r := RequestOf(ctx)
	rest := &restOfAnswer{ReadCloser: content, ctx: ctx, request: r, cancel: cancel, timer: time.AfterFunc(r.timeout, cancel)}
	rest.timer.Stop() // It runs only during reads.
	return rest
}

// Read reads the rest within the request timeout, and logs an error or panic.
func (a *restOfAnswer) Read(p []byte) (n int, err error) {
	defer func() {
		a.timer.Stop()
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			a.request.log.ErrorContext(a.ctx, "answer broke off", slog.String("request_id", a.request.id), slog.Any("error", err))
		}
	}()
	a.timer.Reset(a.request.timeout)
	return a.ReadCloser.Read(p)
}

// Close releases the memory of the answer and ends its context.
func (a *restOfAnswer) Close() error {
	a.timer.Stop()
	defer a.request.Memory.Release()
	defer a.cancel()
	return a.ReadCloser.Close()
}

// readRate is the minimum rate of reading a streamed answer. Clients that do not read could hold the memory budget.
type readRate struct {
	// grace is added to the time of the whole answer.
	grace time.Duration
	// bytesPerSecond is the minimum rate on average.
	bytesPerSecond int
}

func defaultReadRate() readRate { return readRate{grace: time.Minute, bytesPerSecond: 64 << 10} }

// minRateReader is content that is being sent on a connection. It sets the connection's write deadline to the time by
// which the client must have taken the content read so far.
type minRateReader struct {
	io.Closer
	content io.Reader
	conn    net.Conn
	pace    readRate
	due     time.Time
}

func newMinRateReader(content io.Reader, closer io.Closer, conn net.Conn, p readRate) *minRateReader {
	return &minRateReader{Closer: closer, content: content, conn: conn, pace: p, due: time.Now().Add(p.grace)}
}

// Read reads content. It extends the client's deadline by the time that the read takes.
func (p *minRateReader) Read(b []byte) (int, error) {
	began := time.Now()
	n, err := p.content.Read(b)
	p.due = p.due.Add(time.Since(began) + time.Duration(n)*time.Second/time.Duration(p.pace.bytesPerSecond))
	if deadlineErr := p.conn.SetWriteDeadline(p.due); deadlineErr != nil && err == nil {
		return 0, fmt.Errorf("set the write deadline: %w", deadlineErr)
	}
	return n, err
}
