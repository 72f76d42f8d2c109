package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

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
	// minMultiple is the least memory that decoding takes up, in bytes for each byte of the body.
	minMultiple = 3
)

// tooLarge is the error of a body, or a part of a form, that exceeds a limit.
func tooLarge(name string, limit int64) error {
	return evidence.Errorf(evidence.TooLarge, "%s exceeds the limit of %d MiB", name, limit/Mebibyte)
}

// bodyBroken turns an error of reading a body, which the client or the network caused, into the answer.
func bodyBroken(err error) error {
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		return newProblem(http.StatusRequestTimeout, "The request body did not arrive in time")
	}
	return evidence.NewError(evidence.Invalid, "The request body could not be read to its end")
}

// checkEncoding refuses compressed bodies and charsets other than UTF-8.
func checkEncoding(header func(name string) string) error {
	if reason := representation.Unsupported(header); reason != "" {
		return newProblem(http.StatusUnsupportedMediaType, reason)
	}
	return nil
}

// readBody reads the body of a request. It returns TooLarge for a body of more than limit bytes, without reading the rest,
// and Unavailable if there is no memory: before reading if the length was sent, else while reading.
func readBody(ctx context.Context, limit int64) ([]byte, error) {
	r := RequestOf(ctx)
	if err := checkEncoding(r.header); err != nil {
		return nil, err
	}
	b := r.Body
	if b == nil || b.Stream == nil {
		return nil, nil
	}
	if int64(b.Length) > limit {
		return nil, tooLarge("Request body", limit)
	}
	if err := r.Memory.Fits(minMultiple * int64(b.Length)); err != nil {
		return nil, err
	}
	// Read one byte more than allowed, to reach the end of the body or to notice that it is longer.
	readLimit := int(limit) + 1
	if b.Length >= 0 {
		readLimit = b.Length + 1
	}
	text, err := r.Memory.ReadAll(b, readLimit)
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
