package outbound

import (
	"fmt"
	"io"
	"net/http"
)

type limitedTransport struct{ transport *http.Transport }

// RoundTrip returns an answer whose body fails behind MaxAnswer bytes.
func (t limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = &limitedBody{body: response.Body, left: MaxAnswer}
	return response, nil
}

// CloseIdleConnections is what http.Client looks for in its transport.
func (t limitedTransport) CloseIdleConnections() { t.transport.CloseIdleConnections() }

// limitedBody fails where io.LimitReader would end as if the answer were complete.
type limitedBody struct {
	body io.ReadCloser
	left int // bytes that may still be read
}

// Read reads one byte more than may be read, to tell a body of just that length from a longer one.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLong()
	}
	n, err := b.body.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return n - 1, errTooLong()
	}
	return n, err
}

// Close closes the body.
func (b *limitedBody) Close() error { return b.body.Close() }

func errTooLong() error { return fmt.Errorf("the answer is longer than %d bytes", MaxAnswer) }
