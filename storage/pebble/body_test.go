package pebble

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/s2"

	"attestry/storage"
)

func TestBodiesStoredApartComeBackAsTheyWere(t *testing.T) {
	random := make([]byte, 3*inlineLimit)
	source := rand.NewChaCha8([32]byte{1})
	if _, err := source.Read(random); err != nil {
		t.Fatal(err)
	}
	for name, stored := range map[string]struct {
		body  []byte
		place byte
	}{
		"short":                       {bytes.Repeat([]byte("a"), inlineLimit), bodyInline},
		"long, worth compressing":     {bytes.Repeat([]byte("a"), inlineLimit+1), bodyCompressed},
		"long, not worth compressing": {random, bodyApart},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := newRow(newCollection(&storage.Schema{Name: "notes"}), &storage.Record{ID: "a", Revision: 1, Body: stored.body})
			if err != nil {
				t.Fatal(err)
			}
			h, inline, err := cutHead(r.value)
			if err != nil || h[placeAt] != stored.place {
				t.Fatal(h, err)
			}
			got := inline
			if h.apart() {
				got, err = unpackBody(r.body, body{place: h[placeAt], size: h.bodySize()})
			}
			if err != nil || !bytes.Equal(got, stored.body) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

func TestBodiesThatAreNotWhatTheirRecordTellsAreDamaged(t *testing.T) {
	whole := bytes.Repeat([]byte("a"), 2*inlineLimit)
	packed := s2.Encode(nil, whole)
	for name, stored := range map[string]struct {
		stored []byte
		body   body
	}{
		"cut off":                 {whole[1:], body{place: bodyApart, size: len(whole)}},
		"of another size":         {packed, body{place: bodyCompressed, size: len(whole) - 1}},
		"cut off, compressed":     {packed[:len(packed)-1], body{place: bodyCompressed, size: len(whole)}},
		"empty, compressed":       {nil, body{place: bodyCompressed, size: len(whole)}},
		"of an enormous size":     {[]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, body{place: bodyCompressed, size: len(whole)}},
		"not compressed as it is": {whole, body{place: bodyCompressed, size: len(whole)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := unpackBody(stored.stored, stored.body); !errors.Is(err, errValue) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}
