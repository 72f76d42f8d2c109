package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	"attestry/evidence/audit"
)

// unreadableError is that of a file that is no archive, or not the archive of a package.
type unreadableError struct{ cause error }

func (e *unreadableError) Error() string { return e.cause.Error() }

// verify verifies an archive, compressed or not. reading is told the name of each member before it is read.
func verify(file io.Reader, verifier *audit.Verifier, reading func(member string)) (audit.Result, error) {
	content, err := open(file)
	if err != nil {
		return audit.Result{}, &unreadableError{err}
	}
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
		reading(last)
		if header.Typeflag == tar.TypeDir { // of a package that somebody has packed again
			continue
		}
		if header.Typeflag != tar.TypeReg || isSparse(header) {
			return audit.Result{}, fmt.Errorf("%s: it is no plain file", header.Name)
		}
		if err := verifier.Add(strings.TrimPrefix(header.Name, "./"), header.Size, archive); err != nil {
			return audit.Result{}, fmt.Errorf("%s: it cannot be read to its end: %w", header.Name, err)
		}
	}
	if err := content.end(); err != nil {
		return audit.Result{}, fmt.Errorf("the archive is damaged behind %s: %w", last, err)
	}
	reading(audit.ManifestPath)
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
