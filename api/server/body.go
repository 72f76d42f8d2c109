package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"attestry/api/admission"
	"attestry/evidence"
)

const (
	// Mebibyte is the unit in which the limits of bodies are given.
	Mebibyte = 1 << 20
	// jsonLimit bounds a JSON body whose operation states no other limit.
	jsonLimit = Mebibyte
	// ReportLimit bounds the report of an environment.
	ReportLimit = 32 * Mebibyte
	// fileLimit bounds a file sent as a part of a form.
	fileLimit = 10 * Mebibyte
	// minMultiple is what each byte of a body becomes at least while it is decoded.
	minMultiple = 3
)

// requestBody is the only reader of a request's body. fasthttp's own stream must
// not be read again once it has ended: with chunks, it would go on in the next
// request.
type requestBody struct {
	stream io.Reader // nil when there is no body
	Length int       // as announced, negative when unknown
	read   int
	ended  bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	if b == nil || b.stream == nil || b.ended {
		return 0, io.EOF
	}
	n, err := b.stream.Read(p)
	b.read += n
	b.ended = errors.Is(err, io.EOF)
	return n, err
}

// readAll reads what is left of the body; more than limit is TooLarge, and stays
// unread. A body for which there is no memory is Unavailable: as far as its length is
// announced before it is read, else as far as it has come.
func (b *requestBody) readAll(limit int64, m *admission.Memory) ([]byte, error) {
	if b == nil || b.stream == nil {
		return nil, nil
	}
	if int64(b.Length) > limit {
		return nil, bodyTooLarge(limit)
	}
	if err := m.Fits(minMultiple * int64(b.Length)); err != nil {
		return nil, err
	}
	// One more than there may be, to see the end.
	most := int(limit) + 1
	if b.Length >= 0 {
		most = b.Length + 1
	}
	text, err := m.ReadAll(b, most)
	switch {
	case evidence.CodeOf(err) == evidence.Unavailable:
		return nil, err
	case err != nil:
		return nil, bodyBroken(err)
	case int64(len(text)) > limit:
		return nil, bodyTooLarge(limit)
	case len(text) < b.Length:
		return nil, bodyBroken(io.ErrUnexpectedEOF)
	}
	return text, nil
}

// drain reads what the handler left, if it is at most limit bytes, and tells
// whether nothing is left.
func (b *requestBody) drain(limit int) bool {
	if b.stream == nil || b.ended {
		return true
	}
	if b.Length-b.read > limit {
		return false
	}
	_, err := io.CopyN(io.Discard, b, int64(limit)+1)
	return errors.Is(err, io.EOF) && b.ended
}

func bodyTooLarge(limit int64) error {
	return evidence.NewError(evidence.TooLarge, fmt.Sprintf("Request body exceeds the limit of %d MiB", limit/Mebibyte))
}

// bodyBroken words an error of reading: it is the client's, or the network's.
func bodyBroken(err error) error {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return newProblem(http.StatusRequestTimeout, "The request body did not arrive in time")
	}
	return evidence.NewError(evidence.Invalid, "The request body could not be read to its end")
}

// readBody reads the whole body, or returns a TooLarge error.
func readBody(ctx context.Context, limit int64) ([]byte, error) {
	r := RequestOf(ctx)
	return r.Body.readAll(limit, r.Memory)
}
