package framing

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// MaxDrained bounds the unread body that is discarded to keep the connection, in bytes.
	MaxDrained = 64 << 10
	// drainTimeout bounds the wait for the rest of a body. In most cases it has already arrived.
	drainTimeout = 20 * time.Millisecond
	// continueTimeout bounds the sending of status 100.
	continueTimeout = 10 * time.Second
	// maxLingered bounds the rest of a refused body that a closing connection discards, for clients that read the
	// answer only after sending the whole body. anonymousLingered is the same for clients without a valid key. Both are
	// in bytes.
	maxLingered       = 64 << 20
	anonymousLingered = 1 << 20
)

// Announcement describes the body of a request, according to the headers.
type Announcement struct {
	// Length is in bytes, -1 for chunks, -2 for no body.
	Length int
	// AwaitsContinue is set if the client sends the body only after a status 100.
	AwaitsContinue bool
}

// WithholdBody is a HeaderReceived hook of fasthttp, which delays reading the body. Before it calls the handler,
// fasthttp would wait for the first 8 KiB of the body, and send status 100 to clients that expect it. It does neither
// for an empty body, so the hook sets the header's length to 0. Check restores and returns what the client announced.
func WithholdBody(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if header.ContentLength() > 0 {
		header.SetContentLength(0)
	}
	header.Del(fasthttp.HeaderExpect)
	return fasthttp.RequestConfig{}
}

// announcement describes the body by valid fields. It restores the length in the header, by which fasthttp reads.
func (f *fields) announcement(header *fasthttp.RequestHeader) (Announcement, error) {
	if len(f.lengths) == 1 {
		length, err := strconv.Atoi(string(f.lengths[0]))
		if err != nil {
			return Announcement{}, err
		}
		header.SetContentLength(length)
	}
	length := header.ContentLength()
	awaits := len(f.expectations) == 1 && bytes.EqualFold(f.expectations[0], []byte("100-continue"))
	return Announcement{Length: length, AwaitsContinue: awaits && header.IsHTTP11() && (length > 0 || length == -1)}, nil
}

// Body is the only reader of a request's body. After the end of chunks, fasthttp's stream would read the next request.
type Body struct {
	Announcement
	// Stream is nil if there is no body.
	Stream io.Reader
	// Conn is the connection of the body; nil if it is in memory.
	Conn net.Conn
	// AnonymousTimeout bounds the arrival of a body without a valid key.
	AnonymousTimeout time.Duration

	admitted, begun, ended bool
	read                   int
}

// Admit records that the request has a valid key.
func (b *Body) Admit() {
	if b != nil {
		b.admitted = true
	}
}

// Read reads the body. The first call sends status 100 if the client awaits it.
func (b *Body) Read(p []byte) (int, error) {
	if b == nil || b.Stream == nil || b.ended {
		return 0, io.EOF
	}
	if err := b.begin(); err != nil {
		return 0, err
	}
	n, err := b.Stream.Read(p)
	b.read += n
	b.ended = errors.Is(err, io.EOF)
	return n, err
}

func (b *Body) begin() error {
	if b.begun || b.Conn == nil {
		return nil
	}
	b.begun = true
	if !b.admitted {
		if err := b.Conn.SetReadDeadline(time.Now().Add(b.AnonymousTimeout)); err != nil {
			return err
		}
	}
	if !b.AwaitsContinue {
		return nil
	}
	if err := b.Conn.SetWriteDeadline(time.Now().Add(continueTimeout)); err != nil {
		return err
	}
	_, err := io.WriteString(b.Conn, "HTTP/1.1 100 Continue\r\n\r\n")
	return err
}

// Finish discards the unread rest of the body, so that it is not parsed as the next request, and reports whether
// nothing is left. Otherwise the connection must be closed, and lingers.
func (b *Body) Finish() bool {
	finished := b.Stream == nil || b.ended || b.drain()
	if !finished && b.admitted {
		linger(b.Conn, maxLingered)
	} else if !finished {
		linger(b.Conn, anonymousLingered)
	}
	return finished
}

// drain discards the rest of the body if it is short and has arrived.
func (b *Body) drain() bool {
	if b.AwaitsContinue && !b.begun || b.Length-b.read > MaxDrained {
		return false
	}
	b.begun = true
	if err := b.Conn.SetReadDeadline(time.Now().Add(drainTimeout)); err != nil {
		return false
	}
	_, err := io.CopyN(io.Discard, b, MaxDrained+1)
	return errors.Is(err, io.EOF) && b.ended
}
