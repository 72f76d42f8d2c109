package manifest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/record"

	"attestry/evidence/evidencetest"
)

// written returns a manifest of records, the last of which spans blocks.
func written(t *testing.T) []byte {
	t.Helper()
	var content bytes.Buffer
	w := record.NewWriter(&content)
	for _, size := range []int{10, 200, blockBytes - 240, 3, 2*blockBytes + 5} {
		if _, err := w.WriteRecord(bytes.Repeat([]byte{7}, size)); err != nil {
			t.Fatal(err)
		}
	}
	evidencetest.Must(t, w.Close())
	return content.Bytes()
}

func TestDamageAnywhereInAManifestIsFound(t *testing.T) {
	content := written(t)
	folder := t.TempDir()
	store := func(content []byte) Manifest {
		evidencetest.Must(t, os.WriteFile(filepath.Join(folder, "MANIFEST-000007"), content, 0o600))
		m, err := Read(folder)
		evidencetest.Must(t, err)
		return m
	}
	evidencetest.Must(t, os.WriteFile(filepath.Join(folder, "marker.manifest.000002.MANIFEST-000007"), nil, 0o600))
	size := int64(len(content))
	if m := store(content); m != (Manifest{Name: "MANIFEST-000007", Whole: size, Size: size}) {
		t.Fatalf("as written: %+v of %d bytes", m, size)
	}
	for at := 0; at < len(content); at += 211 {
		altered := bytes.Clone(content)
		altered[at] ^= 0x10
		if m := store(altered); m.Whole >= size || m.Whole > int64(at) || m.Size != size {
			t.Errorf("altered at %d: %+v", at, m)
		}
		if m := store(content[:at]); m.Whole > int64(at) || m.Size != int64(at) {
			t.Errorf("cut at %d: %+v", at, m)
		}
	}
}

func TestTablesWithoutAManifestAreRefused(t *testing.T) {
	folder := t.TempDir()
	if m, err := Read(folder); err != nil || m != (Manifest{}) {
		t.Errorf("an empty folder: %+v, %v", m, err)
	}
	for _, name := range []string{"000004.sst", "marker.manifest.000001.MANIFEST-000009"} {
		one := filepath.Join(folder, name)
		evidencetest.Must(t, os.WriteFile(one, nil, 0o600))
		if _, err := Read(folder); !errors.Is(err, ErrMissing) {
			t.Errorf("with %s: %v", name, err)
		}
		evidencetest.Must(t, os.Remove(one))
	}
}
