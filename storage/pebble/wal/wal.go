// Package wal writes the write-ahead logs of Pebble, and reads them strictly: to Pebble, a damaged part is the end.
package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A log is blocks of chunks. A chunk has its checksum, its length, its kind and the number of its log, and in the newer
// format a position, before its content. The rest of a block that has no room for a header is zero.
const (
	blockBytes     = 32 << 10
	oldHeaderBytes = 11
	headerBytes    = 19
	numberAt       = 7
	// The kinds in the older format. Those in the newer one follow in the same order.
	full   = 5
	first  = 6
	middle = 7
	last   = 8
	kinds  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged reports a log with records after a damaged part.
var ErrDamaged = errors.New("a write-ahead log of the database is damaged")

// Read calls use with each record of a log, in order. Each must have been synced before the next was written. Then a
// crash leaves at most the last one incomplete, and a broken part before another record is ErrDamaged.
func Read(path string, use func(record []byte) error) error {
	name := filepath.Base(path)
	number, err := strconv.ParseUint(strings.TrimSuffix(name, ".log"), 10, 64)
	if err != nil {
		return fmt.Errorf("%s is not the name of a log: %w", name, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return read(name, uint32(number), content, use)
}

func read(name string, number uint32, content []byte, use func(record []byte) error) error {
	l := log{content: content, number: binary.LittleEndian.AppendUint32(nil, number)}
	end, err := l.records(use)
	if err != nil {
		return err
	}
	if next := l.nextRecord(end + 1); next > 0 {
		return fmt.Errorf("%w: %s, at byte %d, as there is a record at byte %d", ErrDamaged, name, end, next)
	}
	return nil
}

type log struct {
	content []byte
	// number is the log number in each chunk. A chunk with another number is left from an earlier use of the file.
	number []byte
}

type chunk struct {
	kind    byte
	content []byte
	end     int
}

func (l *log) blockEnd(at int) int { return min((at/blockBytes+1)*blockBytes, len(l.content)) }

// chunk returns the chunk that begins at a byte, if a whole one does.
func (l *log) chunk(at int) (c chunk, ok bool) {
	block := l.content[at:l.blockEnd(at)]
	if len(block) < oldHeaderBytes || !bytes.Equal(block[numberAt:oldHeaderBytes], l.number) {
		return chunk{}, false
	}
	header, kind := oldHeaderBytes, block[6]
	if kind >= full+kinds {
		header, kind = headerBytes, kind-kinds
	}
	end := header + int(binary.LittleEndian.Uint16(block[4:]))
	if kind < full || kind > last || end > len(block) {
		return chunk{}, false
	}
	sum := crc32.Checksum(block[6:end], castagnoli)
	if binary.LittleEndian.Uint32(block) != (sum>>15|sum<<17)+0xa282ead8 {
		return chunk{}, false
	}
	return chunk{kind: kind, content: block[header:end], end: at + end}, true
}

// records calls use with each record and returns where they end: at the first chunk that is not whole, or
// does not continue the one before.
func (l *log) records(use func(record []byte) error) (end int, err error) {
	var parts []byte
	started := false
	for at := 0; at < len(l.content); {
		c, ok := l.chunk(at)
		if !ok && l.padded(at) {
			at = l.blockEnd(at)
			continue
		}
		if !ok || started == (c.kind == full || c.kind == first) {
			return at, nil
		}
		parts = append(parts, c.content...)
		if started = c.kind == first || c.kind == middle; !started {
			if err := use(parts); err != nil {
				return at, err
			}
			parts = parts[:0]
		}
		at = c.end
	}
	return len(l.content), nil
}

// padded reports whether the rest of a block is padding: zeros that have no room for a header.
func (l *log) padded(at int) bool {
	rest := l.content[at:l.blockEnd(at)]
	return len(rest) < headerBytes && len(bytes.Trim(rest, "\x00")) == 0
}

// nextRecord returns the position of the next whole chunk that begins a record, 0 if there is none.
func (l *log) nextRecord(from int) int {
	for from+numberAt < len(l.content) {
		found := bytes.Index(l.content[from+numberAt:], l.number)
		if found < 0 {
			return 0
		}
		from += found
		if c, ok := l.chunk(from); ok && (c.kind == full || c.kind == first) {
			return from
		}
		from++
	}
	return 0
}
