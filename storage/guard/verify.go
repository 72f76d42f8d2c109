package guard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// heldBack is how many bytes of an object are kept in memory until the rest is verified.
const heldBack = 256 << 10

// errMismatch reports content that does not have the SHA-256 it is stored under.
var errMismatch = errors.New("the content does not match its SHA-256")

// window is a range of an object that was read and verified as a whole.
type window struct {
	// length is how many bytes of the object lie in the range.
	length int64
	// content holds the range if complete, else only its beginning.
	content  []byte
	complete bool
}

// readWindow reads and verifies a whole object, and returns the range; a length of -1 means to the end.
func readWindow(object io.Reader, sum string, offset, length int64) (window, error) {
	hash := sha256.New()
	body := io.TeeReader(object, hash)
	if err := skip(body, offset); err != nil {
		return window{}, err
	}
	section := body
	if length >= 0 {
		section = io.LimitReader(body, length)
	}
	kept, err := io.ReadAll(io.LimitReader(section, heldBack+1))
	if err != nil {
		return window{}, err
	}
	more, err := io.Copy(io.Discard, section)
	if err != nil {
		return window{}, err
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return window{}, err
	}
	found := window{length: int64(len(kept)) + more, content: kept, complete: len(kept) <= heldBack}
	return found, compare(hash, sum)
}

// skip reads up to n bytes; a shorter content is no error.
func skip(r io.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, r, n)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func compare(hash hash.Hash, sum string) error {
	if found := hex.EncodeToString(hash.Sum(nil)); found != sum {
		return fmt.Errorf("%w: it is %s", errMismatch, found)
	}
	return nil
}

// verifyingReader reads a range of an object and verifies the whole object again: it returns the last heldBack bytes of
// the range only after the rest of the object was read and matches.
type verifyingReader struct {
	io.Reader
	body   io.Reader // the whole object, hashed as it is read
	hash   hash.Hash
	sum    string
	offset int64
	begun  bool
}

// newVerifyingReader reads length bytes, more than heldBack, from offset on.
func newVerifyingReader(object io.Reader, sum string, offset, length int64) *verifyingReader {
	r := &verifyingReader{hash: sha256.New(), sum: sum, offset: offset}
	r.body = io.TeeReader(object, r.hash)
	r.Reader = io.MultiReader(io.LimitReader(r.body, length-heldBack), &lastPart{whole: r})
	return r
}

func (r *verifyingReader) Read(p []byte) (int, error) {
	if !r.begun {
		r.begun = true
		if err := skip(r.body, r.offset); err != nil {
			return 0, err
		}
	}
	return r.Reader.Read(p)
}

// lastPart is the part of a range that is held back.
type lastPart struct {
	whole *verifyingReader
	rest  io.Reader
}

func (l *lastPart) Read(p []byte) (int, error) {
	if l.rest == nil {
		kept, err := io.ReadAll(io.LimitReader(l.whole.body, heldBack))
		if err != nil {
			return 0, err
		}
		if _, err := io.Copy(io.Discard, l.whole.body); err != nil {
			return 0, err
		}
		if err := compare(l.whole.hash, l.whole.sum); err != nil {
			return 0, err
		}
		l.rest = bytes.NewReader(kept)
	}
	return l.rest.Read(p)
}
