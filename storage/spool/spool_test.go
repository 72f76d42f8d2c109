package spool_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"attestry/evidence/evidencetest"
	"attestry/storage/spool"
)

func TestSpoolReturnsWhatItRead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for name, size := range map[string]int{"empty": 0, "in memory": 64 << 10, "in a file": 64<<10 + 1, "large": 3 << 20} {
		t.Run(name, func(t *testing.T) {
			content := bytes.Repeat([]byte("0123456"), size/7+1)[:size]
			spooled, err := spool.New(iotest.HalfReader(bytes.NewReader(content)), 64<<10)
			evidencetest.Must(t, err)
			if got, err := io.ReadAll(spooled); err != nil || !bytes.Equal(got, content) || spooled.Size != int64(size) {
				t.Errorf("read %d bytes, want %d: %v", len(got), size, err)
			}
			evidencetest.Check(t, spooled.Close())
		})
	}
	wantEmptyFolder(t)
}

func TestSuccessiveSpoolsReuseOneBuffer(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var buffer bytes.Buffer
	for _, content := range []string{"long content", "short", "content for a file", "", "last"} {
		spooled, err := spool.NewIn(&buffer, iotest.HalfReader(strings.NewReader(content)), 12)
		evidencetest.Must(t, err)
		if got, err := io.ReadAll(spooled); err != nil || string(got) != content || spooled.Size != int64(len(content)) {
			t.Errorf("read %q, want %q: %v", got, content, err)
		}
		evidencetest.Check(t, spooled.Close())
	}
	if _, err := spool.NewIn(&buffer, iotest.ErrReader(io.ErrUnexpectedEOF), 12); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	wantEmptyFolder(t)
}

func TestSpoolReturnsErrorsOfTheStream(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	broken := errors.New("broken")
	for _, size := range []int{1, 100 << 10} {
		stream := io.MultiReader(strings.NewReader(strings.Repeat("x", size)), iotest.ErrReader(broken))
		_, err := spool.New(stream, 64<<10)
		var file *spool.FileError
		if !errors.Is(err, broken) || errors.As(err, &file) {
			t.Errorf("after %d bytes: %v", size, err)
		}
	}
	wantEmptyFolder(t)
}

func TestSpoolReturnsErrorsOfTheFile(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	_, err := spool.New(strings.NewReader("xx"), 1)
	var file *spool.FileError
	if !errors.As(err, &file) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func wantEmptyFolder(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
