package docs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"mime"
	"path"
	"regexp"

	"github.com/swaggest/swgui/v5/static"
)

// File is a file that the page loads.
type File struct {
	// Name is the path below that of the page.
	Name        string
	ContentType string
	// Gzip is the compressed content, nil for images, which are not compressed.
	Gzip  []byte
	plain []byte
}

// Plain returns the uncompressed content.
func (f File) Plain() ([]byte, error) {
	if f.Gzip == nil {
		return f.plain, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(f.Gzip))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

func openFiles(html []byte, pagePath string) ([]File, error) {
	below := regexp.MustCompile(`(?:href|src)="` + regexp.QuoteMeta(pagePath) + `/([^"]+)"`)
	var files []File
	for _, match := range below.FindAllSubmatch(html, -1) {
		file, err := open(string(match[1]))
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// open reads an embedded file: compressed, unless it is an image.
func open(name string) (File, error) {
	file := File{Name: name, ContentType: mime.TypeByExtension(path.Ext(name))}
	if compressed, err := static.FS.ReadFile(name + ".gz"); err == nil {
		file.Gzip = compressed
		return file, nil
	}
	plain, err := static.FS.ReadFile(name)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	file.plain = plain
	return file, nil
}
