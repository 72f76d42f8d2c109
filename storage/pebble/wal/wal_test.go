package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"attestry/evidence/evidencetest"
)

// sizes are those of the values in a log, some of which span blocks.
var sizes = []int{10, 200, blockBytes - 400, 3, 2*blockBytes + 5, 50, 60}

// written returns the path of a log of a database, its number, its content and the offsets where its records end. The
// first log of a new database has chunks of the older form, the second one of the newer form.
func written(t *testing.T, second bool) (path string, number uint32, content []byte, ends []int) {
	t.Helper()
	folder := t.TempDir()
	db, err := pebble.Open(folder, &pebble.Options{FormatMajorVersion: pebble.FormatValueSeparation, Logger: silent{}})
	evidencetest.Must(t, err)
	defer func() { evidencetest.Must(t, db.Close()) }()
	if second {
		evidencetest.Must(t, db.Set([]byte("a"), nil, pebble.Sync))
		evidencetest.Must(t, db.Flush())
	}
	for _, size := range sizes {
		evidencetest.Must(t, db.Set([]byte("b"), bytes.Repeat([]byte{7}, size), pebble.Sync))
	}
	logs, err := filepath.Glob(filepath.Join(folder, "*.log"))
	evidencetest.Must(t, err)
	path = logs[len(logs)-1]
	content, err = os.ReadFile(path)
	evidencetest.Must(t, err)
	l := log{content: content, number: content[numberAt : numberAt+4]}
	for at := 0; at < len(content) && len(ends) < len(sizes); {
		c, ok := l.chunk(at)
		if at = c.end; !ok {
			t.Fatalf("there is no chunk behind record %d", len(ends))
		}
		if l.padded(at) {
			at = l.blockEnd(at)
		}
		if c.kind == full || c.kind == last {
			ends = append(ends, c.end)
		}
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	evidencetest.Must(t, os.WriteFile(copied, content, 0o600))
	return copied, binary.LittleEndian.Uint32(content[numberAt:]), content, ends
}

type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// count returns how many records read finds in a log.
func count(number uint32, content []byte) (n int, err error) {
	err = read("it", number, content, func([]byte) error { n++; return nil })
	return n, err
}

func TestDamageBeforeTheLastRecordIsFound(t *testing.T) {
	for form, second := range map[string]bool{"older": false, "newer": true} {
		t.Run(form, func(t *testing.T) {
			_, number, content, ends := written(t, second)
			if n, err := count(number, content); n != len(sizes) || err != nil {
				t.Fatalf("%d records, %v", n, err)
			}
			before := ends[len(ends)-2]
			for _, flip := range []byte{0x01, 0x10} {
				for at := 0; at < ends[len(ends)-1]; at += 41 {
					altered := bytes.Clone(content)
					altered[at] ^= flip
					n, err := count(number, altered)
					if at < before && !errors.Is(err, ErrDamaged) {
						t.Errorf("byte %d altered: %d records, %v", at, n, err)
					}
					if at >= before && (n != len(sizes)-1 || err != nil) {
						t.Errorf("byte %d of the last record altered: %d records, %v", at, n, err)
					}
				}
			}
			for i, end := range ends {
				if n, err := count(number, content[:end]); n != i+1 || err != nil {
					t.Errorf("cut after record %d: %d records, %v", i, n, err)
				}
				if n, err := count(number, content[:end-1]); n != i || err != nil {
					t.Errorf("cut within record %d: %d records, %v", i, n, err)
				}
			}
		})
	}
}

func TestContentOfARecycledLogIsIgnored(t *testing.T) {
	_, number, content, _ := written(t, true)
	if n, err := count(number+2, content); n != 0 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}

func TestReadErrorsNameTheLog(t *testing.T) {
	path, _, content, _ := written(t, true)
	mine := errors.New("mine")
	if err := Read(path, func([]byte) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("the error of the caller: %v", err)
	}
	content[5] ^= 1
	evidencetest.Must(t, os.WriteFile(path, content, 0o600))
	err := Read(path, func([]byte) error { return nil })
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), filepath.Base(path)+", at byte 0,") {
		t.Errorf("a damaged log: %v", err)
	}
	for _, name := range []string{"other.log", "000099.log"} {
		if err := Read(filepath.Join(t.TempDir(), name), nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
