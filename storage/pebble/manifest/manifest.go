// Package manifest reads the manifest of a folder of Pebble strictly: Pebble treats a damaged part as the end of the
// file, and then deletes the tables that only the rest names.
package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The format of a manifest: blocks of chunks, each with its checksum, its length and its kind. The rest of a block that
// has no room for a header is zero.
const (
	blockBytes    = 32 << 10
	headerBytes   = 7
	lastChunkKind = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrMissing reports that the manifest, or the marker that names it, is missing although there are tables.
var ErrMissing = errors.New("a file of the database is missing")

// Manifest is the file that names the tables of a database.
type Manifest struct {
	Name string
	// Whole is the length of its undamaged beginning, Size its whole length, in bytes.
	Whole, Size int64
}

// Find returns the name and the size of the manifest that is in use in a folder, without reading it, or the zero
// Manifest if there is no database.
func Find(folder string) (Manifest, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return Manifest{}, err
	}
	var m Manifest
	used := ""
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case strings.HasPrefix(name, "marker.manifest."):
			// marker.manifest.<number>.<value>, the greatest number counts, as names are sorted.
			_, m.Name, _ = strings.Cut(strings.TrimPrefix(name, "marker.manifest."), ".")
		case strings.HasPrefix(name, "MANIFEST-"), strings.HasSuffix(name, ".sst"):
			used = name
		}
	}
	if m.Name == "" {
		if used != "" {
			return Manifest{}, fmt.Errorf("%w: there is %s, but no file marker.manifest", ErrMissing, used)
		}
		return Manifest{}, nil
	}
	info, err := os.Stat(filepath.Join(folder, m.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, fmt.Errorf("%w: %s", ErrMissing, m.Name)
	}
	if err != nil {
		return Manifest{}, err
	}
	m.Size = info.Size()
	return m, nil
}

// Read is Find, and sets Whole too.
func Read(folder string) (Manifest, error) {
	m, err := Find(folder)
	if err != nil || m.Name == "" {
		return m, err
	}
	content, err := os.Open(filepath.Join(folder, m.Name))
	if err != nil {
		return Manifest{}, err
	}
	defer content.Close()
	m.Whole, m.Size, err = wholeChunks(content)
	return m, err
}

// wholeChunks returns how many bytes at the beginning of a manifest are whole chunks, and how many there are in all.
func wholeChunks(content io.Reader) (whole, size int64, err error) {
	block := make([]byte, blockBytes)
	broken := false
	for {
		n, err := io.ReadFull(content, block)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return 0, 0, err
		}
		if !broken {
			good := chunksOf(block[:n])
			whole += int64(good)
			broken = good < n
		}
		size += int64(n)
		if n < blockBytes {
			return whole, size, nil
		}
	}
}

// chunksOf returns how many bytes at the beginning of a block are whole chunks.
func chunksOf(block []byte) int {
	at := 0
	for at+headerBytes <= len(block) {
		end := at + headerBytes + int(binary.LittleEndian.Uint16(block[at+4:]))
		kind := block[at+6]
		if kind == 0 || kind > lastChunkKind || end > len(block) {
			return at
		}
		sum := crc32.Checksum(block[at+6:end], castagnoli)
		if binary.LittleEndian.Uint32(block[at:]) != (sum>>15|sum<<17)+0xa282ead8 {
			return at
		}
		at = end
	}
	if len(block) < blockBytes {
		return at
	}
	if len(bytes.Trim(block[at:], "\x00")) > 0 {
		return at
	}
	return len(block)
}
