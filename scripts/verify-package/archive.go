package main

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"

	"attestry/evidence/audit"
)

// unreadableError is that of a file that is no archive, or not the archive of a package.
type unreadableError struct{ cause error }

func (e *unreadableError) Error() string { return e.cause.Error() }

// verify verifies an archive, compressed or not.
func verify(file io.Reader, evaluator audit.Evaluator) (audit.Result, error) {
	content, err := decompress(file)
	if err != nil {
		return audit.Result{}, &unreadableError{err}
	}
	verifier := audit.NewVerifier(evaluator)
	archive := tar.NewReader(content)
	last := ""
	for n := 0; ; n++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && n == 0 {
			return audit.Result{}, &unreadableError{err}
		}
		if err != nil {
			return audit.Result{}, fmt.Errorf("the archive is damaged behind %s: %w", last, err)
		}
		last = header.Name
		if header.Typeflag == tar.TypeDir { // of a package that somebody has packed again
			continue
		}
		if header.Typeflag != tar.TypeReg || isSparse(header) {
			return audit.Result{}, fmt.Errorf("%s: it is no plain file", header.Name)
		}
		if err := verifier.Add(strings.TrimPrefix(header.Name, "./"), archive); err != nil {
			return audit.Result{}, fmt.Errorf("%s: it cannot be read to its end: %w", header.Name, err)
		}
	}
	// The checksum of the compressed stream comes behind the end of the archive.
	if _, err := io.Copy(io.Discard, content); err != nil {
		return audit.Result{}, fmt.Errorf("the archive is damaged behind %s: %w", last, err)
	}
	result := verifier.Finish()
	if result.Manifest == nil {
		return result, &unreadableError{errors.New("it has no manifest.json")}
	}
	return result, nil
}

// isSparse reports whether a file can have more content than the archive has bytes.
func isSparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// decompress reads a compressed archive, or one that the client that downloaded it has decompressed.
func decompress(file io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(file)
	magic, err := buffered.Peek(2)
	if err != nil {
		return nil, err
	}
	if magic[0] == 0x1f && magic[1] == 0x8b {
		return gzip.NewReader(buffered)
	}
	return buffered, nil
}
