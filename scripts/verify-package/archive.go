package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"attestry/evidence/audit"
)

// unreadableError is the error for a file that is not an archive, or not the archive of a package.
type unreadableError struct{ cause error }

func (e *unreadableError) Error() string { return e.cause.Error() }

// verify verifies the archive of a package, compressed or not. It calls reading with the name of each member before it
// reads the member.
func verify(file io.Reader, verifier *audit.Verifier, reading func(member string)) (audit.Result, error) {
	if err := readArchive(file, reading, verifier.Add); err != nil {
		return audit.Result{}, err
	}
	return finish(verifier, reading)
}

func finish(verifier *audit.Verifier, reading func(member string)) (audit.Result, error) {
	reading(audit.ManifestPath)
	result := verifier.Finish()
	if result.Manifest == nil {
		return result, &unreadableError{errors.New("it has no manifest.json")}
	}
	return result, nil
}

// readArchive calls add for each member of an archive, compressed or not.
func readArchive(file io.Reader, reading func(member string), add func(path string, size int64, content io.Reader) error) error {
	content, err := open(file)
	if err != nil {
		return &unreadableError{err}
	}
	archive := tar.NewReader(content)
	last := ""
	for n := 0; ; n++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && n == 0 {
			return &unreadableError{err}
		}
		if err != nil {
			return fmt.Errorf("the archive is damaged behind %s: %w", last, err)
		}
		last = header.Name
		reading(last)
		if header.Typeflag == tar.TypeDir && filepath.IsLocal(header.Name) { // in a package that somebody has packed again
			continue
		}
		if header.Typeflag != tar.TypeReg || isSparse(header) {
			return fmt.Errorf("%s: it is no plain file", header.Name)
		}
		if err := add(strings.TrimPrefix(header.Name, "./"), header.Size, archive); err != nil {
			return fmt.Errorf("%s: it cannot be read to its end: %w", header.Name, err)
		}
	}
	if err := content.end(); err != nil {
		return fmt.Errorf("the archive is damaged behind %s: %w", last, err)
	}
	return nil
}

// isSparse reports whether a file may be larger than its data in the archive.
func isSparse(header *tar.Header) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(header.PAXRecords)), func(key string) bool { return strings.HasPrefix(key, "GNU.sparse.") })
}

// maxPadding is the maximum number of zero bytes after the end of an archive: tar pads its last record of 20 blocks.
const maxPadding = 20 * 512

var errFollowed = errors.New("something follows the end of the archive")

// content is an archive without its compression.
type content struct {
	io.Reader
	file *bufio.Reader
}

// open opens a compressed archive, or one that the client has decompressed during the download.
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
	compressed.Multistream(false) // a second stream is not part of the package
	return &content{Reader: compressed, file: buffered}, nil
}

// end reads the padding after the archive and the checksum of the compressed stream. More data is an error.
func (c *content) end() error {
	padding, err := io.ReadAll(io.LimitReader(c, maxPadding+1))
	if err != nil {
		return err
	}
	if len(padding) > maxPadding || len(bytes.Trim(padding, "\x00")) > 0 {
		return errFollowed
	}
	if _, err := c.file.Peek(1); !errors.Is(err, io.EOF) {
		return cmp.Or(err, errFollowed)
	}
	return nil
}
