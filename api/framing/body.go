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
	// MaxDrained is how much of an unread body is worth reading to keep the connection, in bytes.
	MaxDrained = 64 << 10
	// drainTimeout bounds how long an answer waits for the rest of a body, which is either there
	// already or not worth waiting for.
	drainTimeout = 20 * time.Millisecond
	// continueTimeout bounds how long a client may take the answer that asks for its body.
	continueTimeout = 10 * time.Second
	// maxLingered is how much of a refused body a closing connection still takes, for clients that read their answer
	// once they have sent all; strangerLingered is that of clients without a good key. Both are in bytes.
	maxLingered      = 64 << 20
	strangerLingered = 1 << 20
)

// Announcement is what the head of a request says about its body.
type Announcement struct {
	// Length is in bytes, -1 for chunks, -2 for no body.
	Length int
	// AwaitsContinue is set if the client sends the body only after a status 100.
	AwaitsContinue bool
}

// WithholdBody is a HeaderReceived of fasthttp. Before it calls the handler, fasthttp would wait for the first
// 8 KiB of a body, and send status 100 to clients that expect it. It does neither for an empty body, so the header
// is changed to announce one. Check returns what the client has announced.
func WithholdBody(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if header.ContentLength() > 0 {
		header.SetContentLength(0)
	}
	header.Del(fasthttp.HeaderExpect)
	return fasthttp.RequestConfig{}
}

// announcement is what valid fields say about the body. It restores the length in the header, by which fasthttp reads.
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

// Body is the only reader of a request's body. fasthttp's own stream must not be read again once it
// has ended: with chunks, it would go on in the next request.
type Body struct {
	Announcement
	// Stream is nil when there is no body.
	Stream io.Reader
	// Conn is where the body comes from; nil if it is at hand.
	Conn net.Conn
	// StrangerTimeout bounds the arrival of a body that comes without a good key.
	StrangerTimeout time.Duration

	admitted, begun, ended bool
	read                   int
}

// Admit takes note that the request came with a good key.
func (b *Body) Admit() {
	if b != nil {
		b.admitted = true
	}
}

// Read reads the body. The first one asks the client for it, if that is what the client awaits.
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
		if err := b.Conn.SetReadDeadline(time.Now().Add(b.StrangerTimeout)); err != nil {
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

// Finish reads what the handler left of the body, so that it is not taken for the next request, and
// reports whether nothing is left. Else the connection must be closed, and lingers.
func (b *Body) Finish() bool {
	finished := b.Stream == nil || b.ended || b.drain()
	if !finished && b.admitted {
		linger(b.Conn, maxLingered)
	} else if !finished {
		linger(b.Conn, strangerLingered)
	}
	return finished
}

// drain reads the rest of the body if it is short and there already.
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
