package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// maxPadding is how many bytes of zeros may follow the end of an archive: tar fills its last record of
// 20 blocks.
const maxPadding = 20 * 512

var errFollowed = errors.New("something follows the end of the archive")

// content is an archive without its compression.
type content struct {
	io.Reader
	file *bufio.Reader
}

// open reads a compressed archive, or one that the client that downloaded it has decompressed.
func open(file io.Reader) (*content, error) {
	buffered := bufio.NewReader(file)
	magic, err := buffered.Peek(2)
	if err != nil {
		return nil, err
	}
	if magic[0] != 0x1f || magic[1] != 0x8b {
		return &content{Reader: buffered, file: buffered}, nil
	}
	compressed, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, err
	}
	if len(compressed.Extra) > 0 || compressed.Comment != "" {
		return nil, errors.New("its gzip header has an extra field or a comment")
	}
	compressed.Multistream(false) // a second stream is not of the package
	return &content{Reader: compressed, file: buffered}, nil
}

// end reads what is behind the end of the archive: padding, and the checksum of the compressed stream.
// Anything more is an error.
func (c *content) end() error {
	padding, err := io.ReadAll(io.LimitReader(c, maxPadding+1))
	if err != nil {
		return err
	}
	if len(padding) > maxPadding || len(bytes.Trim(padding, "\x00")) > 0 {
		return errFollowed
	}
	if _, err := c.file.Peek(1); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errFollowed
		}
		return err
	}
	return nil
}
