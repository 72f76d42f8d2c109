package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/s2"

	"attestry/evidence/evidencetest"
	"attestry/storage"
)

func TestSeparatelyStoredBodiesAreReadUnchanged(t *testing.T) {
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
			r := newRow(newCollection(&storage.Schema{Name: "notes"}), &storage.Record{ID: "a", Revision: 1, Body: stored.body})
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

func TestBodiesThatContradictTheirRecordAreDamaged(t *testing.T) {
	whole := bytes.Repeat([]byte("a"), 2*inlineLimit)
	packed := s2.Encode(nil, whole)
	for name, stored := range map[string]struct {
		stored []byte
		body   body
	}{
		"cut off":             {whole[1:], body{place: bodyApart, size: len(whole)}},
		"of another size":     {packed, body{place: bodyCompressed, size: len(whole) - 1}},
		"cut off, compressed": {packed[:len(packed)-1], body{place: bodyCompressed, size: len(whole)}},
		"empty, compressed":   {nil, body{place: bodyCompressed, size: len(whole)}},
		"of an enormous size": {[]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, body{place: bodyCompressed, size: len(whole)}},
		"not compressed":      {whole, body{place: bodyCompressed, size: len(whole)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := unpackBody(stored.stored, stored.body); !errors.Is(err, errValue) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

// TestManyKeysAreFoundLikeFew reads and writes more documents at once than are looked up one by one, with inline,
// compressed and separately stored bodies.
func TestManyKeysAreFoundLikeFew(t *testing.T) {
	const n = 4 * manyKeys
	db, _ := openFaulty(t)
	forms := []func(string) storage.Record{plain, large, bulky}
	var ids []string
	var writes []storage.Write
	for i := range n {
		ids = append(ids, fmt.Sprintf("%03d", i))
		if i%4 != 3 { // the others are absent
			writes = append(writes, storage.Write{Kind: storage.WriteInsert, Schema: plainSchema(), Record: forms[i%3](ids[i])})
		}
	}
	evidencetest.Must(t, db.Write(t.Context(), writes...))
	evidencetest.Must(t, db.engine.Flush())
	found, err := db.GetMany(t.Context(), plainSchema(), ids)
	if err != nil || len(found) != len(writes) {
		t.Fatalf("%d documents, %v", len(found), err)
	}
	for i, record := range found {
		want := writes[i].Record
		one, err := db.Get(t.Context(), plainSchema(), want.ID)
		if err != nil || record.ID != want.ID || !bytes.Equal(record.Body, want.Body) || !bytes.Equal(one.Body, want.Body) {
			t.Errorf("%s: %v", want.ID, err)
		}
	}
	last := len(writes) - 1
	for i := range writes[:last] {
		writes[i].Kind, writes[i].Revision = storage.WriteReplace, 1
	}
	refused := &storage.RefusedWrite{}
	if err := db.Write(t.Context(), writes...); !errors.As(err, &refused) || refused.Index != last || refused.Reason != storage.ErrExists {
		t.Errorf("the last write was not refused: %v", err)
	}
	writes[0].Record.ID = ids[3]
	if err := db.Write(t.Context(), writes[:last]...); !errors.As(err, &refused) || refused.Index != 0 || refused.Reason != storage.ErrMoved {
		t.Errorf("the replacement of an absent document was not refused: %v", err)
	}
}
