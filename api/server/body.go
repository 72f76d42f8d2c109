package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"attestry/api/framing"
	"attestry/api/memory"
	"attestry/api/representation"
	"attestry/evidence"
)

const (
	// Mebibyte is the unit in which the limits of bodies are given.
	Mebibyte = 1 << 20
	// jsonLimit bounds a JSON body whose operation states no other limit.
	jsonLimit = Mebibyte
	// ReportLimit bounds the report of an environment.
	ReportLimit = 32 * Mebibyte
	// FileLimit bounds a file sent as a part of a form.
	FileLimit = 10 * Mebibyte
	// minMultiple is what each byte of a body becomes at least while it is decoded.
	minMultiple = 3
)

// readAll reads the rest of a body. More than limit is TooLarge, and stays unread. Unavailable means that there is no
// memory for the body: before it is read if its length is announced, else while it is read.
func readAll(b *framing.Body, limit int64, m *memory.Account) ([]byte, error) {
	if b == nil || b.Stream == nil {
		return nil, nil
	}
	if int64(b.Length) > limit {
		return nil, tooLarge("Request body", limit)
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
		return nil, tooLarge("Request body", limit)
	case len(text) < b.Length:
		return nil, bodyBroken(io.ErrUnexpectedEOF)
	}
	return text, nil
}

// tooLarge is the answer for a body, or a part of a form, of more bytes than a limit.
func tooLarge(name string, limit int64) error {
	return evidence.Errorf(evidence.TooLarge, "%s exceeds the limit of %d MiB", name, limit/Mebibyte)
}

// bodyBroken words an error of reading: it is the client's, or the network's.
func bodyBroken(err error) error {
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		return newProblem(http.StatusRequestTimeout, "The request body did not arrive in time")
	}
	return evidence.NewError(evidence.Invalid, "The request body could not be read to its end")
}

// checkEncoding refuses bodies that are compressed, and text that is not UTF-8.
func checkEncoding(header func(name string) string) error {
	if reason := representation.Unsupported(header); reason != "" {
		return newProblem(http.StatusUnsupportedMediaType, reason)
	}
	return nil
}

// readBody reads the whole body. It refuses one that is too large or not plain UTF-8.
func readBody(ctx context.Context, limit int64) ([]byte, error) {
	r := RequestOf(ctx)
	if err := checkEncoding(r.header); err != nil {
		return nil, err
	}
	return readAll(r.Body, limit, r.Memory)
}
