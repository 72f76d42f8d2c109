package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/valyala/fasthttp"

	"attestry/api/jsonstream"
	"attestry/api/memory"
	"attestry/api/representation"
)

// initialAnswerSize is how much of an answer is encoded before the status is chosen, in bytes. An answer that is not
// longer is sent at once, with its length.
const initialAnswerSize = 64 << 10

type jsonAnswer struct {
	// text is the answer, or its beginning.
	text []byte
	// rest encodes the answer after text while it is sent; nil if text is the whole answer.
	rest *restOfAnswer
	// headOnly is set for an answer to HEAD whose length is not known.
	headOnly bool
}

// beginAnswer encodes the beginning of the Body of out, which a handler returned. An error in the beginning is answered
// like any other. A later one closes the connection, so that the client sees that the answer is incomplete.
func (s *Server) beginAnswer(ctx context.Context, out any) error {
	r := RequestOf(ctx)
	body := reflect.ValueOf(out).Elem().FieldByName("Body")
	if !body.IsValid() || body.Kind() == reflect.Func {
		return nil
	}
	value := body.Interface()
	_, escapeHTML := value.(EscapesHTML)
	reader := jsonstream.NewReader(ctx, value, escapeHTML)
	var text bytes.Buffer
	_, err := io.CopyN(&text, reader, initialAnswerSize)
	switch {
	case errors.Is(err, io.EOF):
		r.answer = &jsonAnswer{text: text.Bytes()}
		return nil
	case err != nil:
		return err
	case r.method == http.MethodHead:
		r.answer = &jsonAnswer{headOnly: true}
		return reader.Close()
	case !r.http11:
		return errors.Join(r.answerWhole(&text, reader), reader.Close())
	}
	if reader.Reads() {
		if err := r.Memory.Hold(StreamCost(s.batchBytes)); err != nil {
			return errors.Join(err, reader.Close())
		}
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	reader.SetContext(own)
	r.answer = &jsonAnswer{text: text.Bytes(), rest: newRestOfAnswer(ctx, reader, cancel)}
	return nil
}

// answerWhole encodes all of an answer, for HTTP/1.0 clients, which need its length.
func (r *Request) answerWhole(text *bytes.Buffer, reader io.Reader) error {
	for {
		n, err := io.CopyN(text, reader, int64(text.Len()))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		// A growing buffer is copied, so that it is in memory twice for a moment.
		if full := r.Memory.Take(2 * n); full != nil {
			return full
		}
		if err != nil {
			r.answer = &jsonAnswer{text: text.Bytes()}
			return nil
		}
	}
}

// EscapesHTML is a body in whose texts <, > and & are written as \u003c, \u003e and \u0026, which its clients expect.
type EscapesHTML interface{ EscapesHTML() }

// StreamCost is the memory of an answer that is read batch by batch: a batch as it is read, decoded and shown, and as
// much again for the documents that are looked up for it.
func StreamCost(batchBytes int) int64 { return (memory.ReadMultiple + 1) * int64(batchBytes) }

// swapAnswer replaces the value that the handler returned by the answer that beginAnswer has begun.
func swapAnswer(ctx huma.Context, _ string, value any) (any, error) {
	if begun := RequestOf(ctx.Context()).answer; begun != nil {
		return begun, nil
	}
	return value, nil
}

// send sends the answer to w, huma's writer for fiber.
func (a *jsonAnswer) send(w io.Writer) error {
	response, ok := w.(*fasthttp.RequestCtx)
	switch {
	case a.rest == nil && !a.headOnly:
		_, err := w.Write(a.text)
		return err
	case !ok:
		return fmt.Errorf("an answer cannot be streamed to a %T", w)
	}
	compressed := representation.NegotiateGzip(response)
	if a.headOnly {
		return nil // With a stream of unknown size, fasthttp would write the last chunk after the header.
	}
	content := io.MultiReader(bytes.NewReader(a.text), a.rest)
	if compressed {
		content = representation.NewGzipReader(content)
	}
	response.SetBodyStream(newMinRateReader(content, a.rest, response.Conn(), a.rest.request.pace), -1)
	return nil
}
