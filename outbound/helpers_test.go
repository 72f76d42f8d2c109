package outbound_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log"
	"testing"
)

// compressed returns so many zeros, compressed.
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

// discard returns a logger for servers whose handshakes fail.
func discard() *log.Logger { return log.New(io.Discard, "", 0) }
