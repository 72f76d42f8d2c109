package representation

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func TestGzipIsNegotiated(t *testing.T) {
	for header, want := range map[string]bool{
		"":                                   false,
		"gzip":                               true,
		"GZIP":                               true,
		"deflate, gzip;q=0.5, br":            true,
		"gzip;q=1.0, identity; q=0.5, *;q=0": true,
		"gzip ; q=0.001":                     true,
		"*":                                  true,
		"*;q=0.2":                            true,
		"gzip;q=0":                           false,
		"gzip;q=0.000":                       false,
		"gzip;q=0, *":                        false,
		"*;q=0":                              false,
		"identity":                           false,
		"identity, gzip;q=0.5":               false,
		"identity, gzip":                     true,
		"br, deflate, zstd":                  false,
		"gzipped":                            false,
		"gzip;q=high":                        false,
	} {
		if got := AcceptsGzip(header); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

// unpacked decompresses content.
func unpacked(t *testing.T, compressed io.Reader) ([]byte, error) {
	t.Helper()
	reader, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

func TestContentIsCompressedAsItIsRead(t *testing.T) {
	random := make([]byte, 3*gzipChunk+17)
	for i := range random {
		random[i] = byte(rand.Uint32()) // the content does not matter
	}
	for name, content := range map[string][]byte{
		"nothing": nil, "a byte": {'x'}, "a chunk": bytes.Repeat([]byte("0123456789abcdef"), gzipChunk/16),
		"text": []byte(strings.Repeat(`{"name":"flow","state":"COMPLIANT"},`, 50_000)), "noise": random,
	} {
		for form, reader := range map[string]io.Reader{
			"whole": bytes.NewReader(content), "halves": iotest.HalfReader(bytes.NewReader(content)),
			"end with content": iotest.DataErrReader(bytes.NewReader(content)), "small reads": iotest.OneByteReader(bytes.NewReader(content)),
		} {
			got, err := unpacked(t, iotest.HalfReader(NewGzipReader(reader)))
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s, %s: %d bytes, %v, want %d", name, form, len(got), err, len(content))
			}
		}
		if got, err := unpacked(t, bytes.NewReader(Gzip(content))); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(content))
		}
	}
}

func TestFailedContentIsIncomplete(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, fault := range []error{broken, io.ErrUnexpectedEOF} {
		reader := NewGzipReader(io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), iotest.ErrReader(fault)))
		compressed, err := io.ReadAll(reader)
		if !errors.Is(err, fault) {
			t.Errorf("reading ends with %v, want %v", err, fault)
		}
		if _, err := unpacked(t, bytes.NewReader(compressed)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("what was read unpacks with %v", err)
		}
	}
}

func TestCompressingAStreamTakesLittleMemory(t *testing.T) {
	content := []byte(strings.Repeat(`{"name":"flow","state":"COMPLIANT"},`, 1000))
	endless := &repeated{content: content}
	reader := NewGzipReader(endless)
	into := make([]byte, 4096)
	for endless.read < 20<<20 {
		if _, err := reader.Read(into); err != nil {
			t.Fatal(err)
		}
		if buffered := reader.compressed.Cap() + cap(reader.chunk); buffered > 4*gzipChunk {
			t.Fatalf("%d bytes are held", buffered)
		}
	}
}

// repeated is endless content.
type repeated struct {
	content []byte
	read    int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.content[r.read%len(r.content):])
	r.read += n
	return n, nil
}
