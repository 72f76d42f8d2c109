package outbound_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log"
	"testing"
)

// compressed returns zeros of a length, compressed.
func compressed(t *testing.T, length int) []byte {
	t.Helper()
	var content bytes.Buffer
	w := gzip.NewWriter(&content)
	if _, err := w.Write(make([]byte, length)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}

// discard is a logger for servers of which handshakes fail.
func discard() *log.Logger { return log.New(io.Discard, "", 0) }
