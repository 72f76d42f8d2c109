package guard

import (
	"bytes"
	"io"

	"attestry/storage/transfer"
)

// heldBack is how many bytes of an object are buffered until the rest is verified.
const heldBack = 256 << 10

// window is a range of an object that was read and verified as a whole.
type window struct {
	// length is how many bytes of the object are in the range.
	length int64
	// content is the range if complete, else only its beginning.
	content  []byte
	complete bool
}

// readWindow reads and verifies a whole object, and returns the range; a length of -1 means to the end.
func readWindow(object io.Reader, sum string, offset, length int64) (window, error) {
	body := transfer.Verified(object, sum)
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
	_, err = io.Copy(io.Discard, body)
	return window{length: int64(len(kept)) + more, content: kept, complete: len(kept) <= heldBack}, err
}

// skip reads up to n bytes; a shorter content is no error.
func skip(r io.Reader, n int64) error {
	_, err := io.Copy(io.Discard, io.LimitReader(r, n))
	return err
}

// newVerifyingReader reads length bytes, more than heldBack, from offset on, and verifies the whole object again: it
// returns the last heldBack bytes of the range only after the rest of the object was read and matches.
func newVerifyingReader(object io.Reader, sum string, offset, length int64) io.Reader {
	body := transfer.Verified(object, sum)
	before := func() ([]byte, error) { return nil, skip(body, offset) }
	last := func() ([]byte, error) {
		kept, err := io.ReadAll(io.LimitReader(body, heldBack))
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, body)
		return kept, err
	}
	return io.MultiReader(&part{read: before}, io.LimitReader(body, length-heldBack), &part{read: last})
}

// part is content that is read as a whole before its first byte is returned.
type part struct {
	read func() ([]byte, error)
	rest *bytes.Reader
}

func (p *part) Read(b []byte) (int, error) {
	if p.rest == nil {
		content, err := p.read()
		if err != nil {
			return 0, err
		}
		p.rest = bytes.NewReader(content)
	}
	return p.rest.Read(b)
}
