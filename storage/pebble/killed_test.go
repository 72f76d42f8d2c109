package pebble

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/storagetest"
)

const (
	// killedLocation is the environment variable that tells the process to be killed which folder to write.
	killedLocation = "ATTESTRY_PEBBLE_KILLED"
	// killedMoment is the environment variable that tells it in which state it will be killed.
	killedMoment = "ATTESTRY_PEBBLE_KILLED_WHILE"

	whileFlushing   = "tables are written"
	withSeveralLogs = "several logs are not yet in tables"

	killedWriters = 8
	// killedPause is the pause of each writer after a write. It keeps the database small.
	killedPause = 20 * time.Millisecond
	// killedTable is the least number of records in each table.
	killedTable = 40
)

// stoppedTables is a file system that blocks the creation of tables from stop until release.
type stoppedTables struct {
	vfs.FS
	stopped atomic.Pointer[chan struct{}]
}

func (s *stoppedTables) stop() {
	until := make(chan struct{})
	s.stopped.Store(&until)
}

func (s *stoppedTables) release() {
	if until := s.stopped.Load(); until != nil {
		close(*until)
	}
}

func (s *stoppedTables) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.Create(name, category)
	if until := s.stopped.Load(); until != nil && filepath.Ext(name) == ".sst" {
		<-*until
	}
	return f, err
}

// loadedWriter writes a database in several goroutines and prints what was acknowledged.
type loadedWriter struct {
	t       *testing.T
	db      *DB
	tables  *stoppedTables
	written atomic.Int64
}

// TestWriterThatIsKilled is the process that writes a database and is killed.
func TestWriterThatIsKilled(t *testing.T) {
	folder := os.Getenv(killedLocation)
	if folder == "" {
		t.Skip("only a process of its own is killed")
	}
	w := &loadedWriter{t: t, tables: &stoppedTables{FS: vfs.Default}}
	var err error
	w.db, err = Open(t.Context(), Options{Folder: folder, FileSystem: w.tables}, []*storage.Schema{plainSchema()})
	evidencetest.Must(t, err)
	for i := range killedWriters {
		go w.write(i)
	}
	for i := 0; i < 6 || w.db.engine.Metrics().Compact.Count == 0; i++ {
		w.wait(killedTable)
		evidencetest.Must(t, w.db.engine.Flush())
	}
	if os.Getenv(killedMoment) == withSeveralLogs {
		w.keepLogs()
	}
	w.waitRecorded()
	fmt.Println("loaded")
	for {
		w.wait(killedTable)
		_, err := w.db.engine.AsyncFlush()
		evidencetest.Must(t, err)
	}
}

// write inserts records without end. The kernel has each printed line before write goes on, so a kill loses none.
func (w *loadedWriter) write(writer int) {
	for i := 0; ; i++ {
		id := fmt.Sprintf("record-%d-%05d", writer, i)
		if err := storagetest.Insert(w.t.Context(), w.db, plainSchema(), plain(id)); err != nil {
			fmt.Println("failed", err)
			return
		}
		fmt.Println("acknowledged", id, w.db.acknowledged.Load())
		w.written.Add(1)
		time.Sleep(killedPause)
	}
}

// wait waits until so many more records are written.
func (w *loadedWriter) wait(records int64) {
	for until := w.written.Load() + records; w.written.Load() < until; {
		time.Sleep(time.Millisecond)
	}
}

// keepLogs stops the creation of tables and waits until three logs have records that are in no table.
func (w *loadedWriter) keepLogs() {
	w.tables.stop()
	for range 2 {
		w.wait(killedTable)
		_, err := w.db.engine.AsyncFlush()
		evidencetest.Must(w.t, err)
	}
	w.wait(killedTable)
}

// waitRecorded waits until the file of acknowledged groups has all groups acknowledged so far and the manifest's size.
func (w *loadedWriter) waitRecorded() {
	for groups := w.db.acknowledged.Load(); ; time.Sleep(time.Millisecond) {
		if known, err := readAcknowledged(w.db.folder); err == nil && known.Groups > groups && known.ManifestBytes > 0 {
			return
		}
	}
}

// killed is a database whose process was killed under load.
type killed struct {
	folder string
	// acknowledged has for each record a number of groups of writes that include it.
	acknowledged map[string]uint64
	// last is the greatest of them, recorded the number in the file of acknowledged groups.
	last, recorded uint64
}

// kill starts a process that writes a database in a new folder, and kills it.
func kill(t *testing.T, moment string) *killed {
	t.Helper()
	k := &killed{folder: filepath.Join(scratch(t), "killed"), acknowledged: map[string]uint64{}}
	writer := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWriterThatIsKilled$", "-test.v")
	writer.Env = append(os.Environ(), killedLocation+"="+k.folder, killedMoment+"="+moment)
	out, err := writer.StdoutPipe()
	evidencetest.Must(t, err)
	evidencetest.Must(t, writer.Start())
	left := -1
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var id string
		var groups uint64
		switch n, _ := fmt.Sscanf(lines.Text(), "acknowledged %s %d", &id, &groups); {
		case lines.Text() == "loaded":
			left = killedTable * 3 / 2
		case n == 2:
			k.acknowledged[id] = groups
			k.last = max(k.last, groups)
			if left--; left == 0 {
				evidencetest.Must(t, writer.Process.Kill())
			}
		}
	}
	_ = writer.Wait() // it was killed
	if left > 0 || len(k.acknowledged) == 0 {
		t.Fatalf("the writer ended by itself, with %d records", len(k.acknowledged))
	}
	known, err := readAcknowledged(k.folder)
	evidencetest.Must(t, err)
	k.recorded = known.Groups
	return k
}

// scratch returns a folder for files that need not be durable.
func scratch(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "attestry")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}
