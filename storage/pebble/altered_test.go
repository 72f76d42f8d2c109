package pebble

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"attestry/storage"
)

const (
	// killedLocation tells a process that it is to be killed, and which folder it writes.
	killedLocation = "ATTESTRY_PEBBLE_KILLED"
	killedRecords  = 120
)

func killedID(i int) string { return fmt.Sprintf("record-%04d", i) }

// TestWriterThatIsKilled is the process that writes a database and is killed.
func TestWriterThatIsKilled(t *testing.T) {
	folder := os.Getenv(killedLocation)
	if folder == "" {
		t.Skip("only a process of its own is killed")
	}
	db, err := Open(t.Context(), Options{Folder: folder}, []*storage.Schema{plainSchema()})
	must(t, err)
	for i := range killedRecords {
		must(t, db.Insert(t.Context(), plainSchema(), plain(killedID(i))))
		if i%50 == 20 {
			must(t, db.engine.Flush())
		}
	}
	for {
		if a, err := readAcknowledged(folder); err == nil && a.Groups == killedRecords && a.ManifestBytes > 0 {
			break
		}
	}
	fmt.Println("written")
	select {}
}

// killedFolder is a database whose process was killed.
func killedFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "killed")
	writer := exec.Command(os.Args[0], "-test.run=^TestWriterThatIsKilled$", "-test.v")
	writer.Env = append(os.Environ(), killedLocation+"="+folder)
	out, err := writer.StdoutPipe()
	must(t, err)
	must(t, writer.Start())
	var said strings.Builder
	for buffer := make([]byte, 256); !strings.Contains(said.String(), "written"); {
		n, err := out.Read(buffer)
		said.Write(buffer[:n])
		if err != nil {
			t.Fatalf("the writer ended: %v %s", err, said.String())
		}
	}
	must(t, writer.Process.Kill())
	_ = writer.Wait() // it was killed
	return folder
}

// mustStartWhole starts a copy of a database with one file changed: it must have every record, or refuse
// and name what is wrong, or answer with an error when it reads what is damaged.
func mustStartWhole(t *testing.T, folder, file, change string, content []byte) (refused bool) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy")
	must(t, os.CopyFS(copied, os.DirFS(folder)))
	if content == nil {
		must(t, os.Remove(filepath.Join(copied, file)))
	} else {
		must(t, os.WriteFile(filepath.Join(copied, file), content, 0o600))
	}
	defer os.RemoveAll(copied)
	db, err := Open(t.Context(), Options{Folder: copied}, []*storage.Schema{plainSchema()})
	if err != nil {
		if !strings.Contains(err.Error(), copied) {
			t.Errorf("%s %s: it is refused with %q", file, change, err)
		}
		return true
	}
	defer db.Close()
	for i := range killedRecords {
		if _, err := db.Get(t.Context(), plainSchema(), killedID(i)); errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s %s: %s is gone without a word", file, change, killedID(i))
			return false
		}
	}
	return false
}

func TestDamageIsNeverSilent(t *testing.T) {
	folder := killedFolder(t)
	if mustStartWhole(t, folder, acknowledgedName+".new", "added", []byte{}) {
		t.Error("the database as it was killed is refused")
	}
	step := 97
	if testing.Short() {
		step *= 61
	}
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, entry := range entries {
		file, err := os.Open(filepath.Join(folder, entry.Name()))
		must(t, err)
		content, err := io.ReadAll(file)
		must(t, errors.Join(err, file.Close()))
		name := entry.Name()
		t.Run(name, func(t *testing.T) {
			mustStartWhole(t, folder, name, "removed", nil)
			mustStartWhole(t, folder, name, "empty", []byte{})
			mustStartWhole(t, folder, name, "cut in half", content[:len(content)/2])
			for at := step / 2; at < len(content); at += step {
				altered := append([]byte{}, content...)
				altered[at] ^= 0x10
				mustStartWhole(t, folder, name, fmt.Sprint("altered at ", at), altered)
			}
		})
	}
}
