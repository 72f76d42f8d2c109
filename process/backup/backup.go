// Package backup copies the stores of a running service to a backup store, and restores them into empty stores.
//
// The backup store is an object store. It has the objects of the service under their keys, the files of database
// checkpoints under the SHA-256 of their content, and one manifest per backup. A backup adds only missing objects and
// files, and stores its manifest last. So an interrupted backup cannot be restored, and the next one continues it.
package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"attestry/app/verify"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/transfer"
)

// Opener opens the documents in a folder.
type Opener func(ctx context.Context, folder string) (storage.Documents, error)

// Source is what is backed up.
type Source struct {
	// Checkpoint makes a consistent copy of the running database in a folder that does not exist.
	Checkpoint func(ctx context.Context, folder string) error
	// Folder is that of the database. The checkpoint is made beside it, where it needs hardly any disk space.
	Folder string
	Open   Opener
	// Objects is the object store of the engine, without wrappers.
	Objects storage.Objects
	// HoldDeletions blocks the deletion of objects by the service until release is called.
	HoldDeletions func() (release func())
}

// Output receives progress and reports of damage.
type Output struct {
	Clock    evidence.Clock
	Progress io.Writer
	Report   func(verify.Finding) error
}

// running serializes the backups of this process.
var running sync.Mutex

// Make makes a backup. It has every document that was acknowledged before it began, and all objects that these
// documents name: an object is stored before its document, and none is deleted until all are copied. Damaged data is
// reported, and is part of the backup as far as it can be read.
func Make(ctx context.Context, source Source, backups storage.Objects, out Output) (Manifest, error) {
	if !running.TryLock() {
		return Manifest{}, errors.New("another backup is being made")
	}
	defer running.Unlock()
	release := sync.OnceFunc(source.HoldDeletions())
	defer release()
	made := Manifest{Format: format, MadeAt: out.Clock().UTC()}
	checkpoint := source.Folder + ".backup"
	// A killed process may have left a checkpoint.
	if err := os.RemoveAll(checkpoint); err != nil {
		return made, err
	}
	if err := source.Checkpoint(ctx, checkpoint); err != nil {
		return made, err
	}
	defer os.RemoveAll(checkpoint)
	m := newMeter(out, "objects")
	if err := copyObjects(ctx, source.Objects, m.wrap(backups), out); err != nil {
		return made, err
	}
	release()
	m.end()
	m = newMeter(out, "files of the database")
	var err error
	if made.Files, err = putFiles(ctx, checkpoint, m.wrap(backups)); err != nil {
		return made, err
	}
	m.end()
	if err := made.verify(ctx, checkpoint, source.Open, backups, out); err != nil {
		return made, err
	}
	return made, made.put(ctx, backups)
}

// copyObjects copies the objects that are missing in another store, and reports damaged ones.
func copyObjects(ctx context.Context, from, to storage.Objects, out Output) error {
	_, err := transfer.CopyMissing(ctx, from, to, func(object *storage.Object, err error) error {
		switch {
		case errors.Is(err, storage.ErrNotFound):
			return nil // such as a probe, which is deleted at once; verify reports missing objects that documents name
		case errors.Is(err, transfer.ErrContent):
			return out.Report(verify.Finding{Where: object.Key, What: "it was not copied: its content is damaged, or the disk cannot read it"})
		}
		return err
	})
	return err
}

func putFiles(ctx context.Context, folder string, backups storage.Objects) ([]File, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	files := make([]File, 0, len(entries))
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		file, err := putFile(ctx, filepath.Join(folder, entry.Name()), backups)
		if err != nil {
			return nil, fmt.Errorf("copy the file %s of the database: %w", entry.Name(), err)
		}
		files = append(files, file)
	}
	return files, nil
}

// putFile stores a file, unless the backup store has one with its content.
func putFile(ctx context.Context, path string, backups storage.Objects) (File, error) {
	content, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer content.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, content)
	if err != nil {
		return File{}, err
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	file := File{Name: filepath.Base(path), Key: storage.ObjectKey(filesScope, sum), Size: size}
	existing, err := backups.Stat(ctx, file.Key)
	if err == nil && existing.Size == size {
		return file, nil
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return File{}, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return File{}, err
	}
	_, err = backups.Put(ctx, filesScope, transfer.Verified(content, sum), size)
	return file, err
}

// verify reads the files of a backup back, and opens the checkpoint from which they were copied: every document must
// decode, and the backup store must have all objects that the documents name.
func (m *Manifest) verify(ctx context.Context, checkpoint string, open Opener, backups storage.Objects, out Output) error {
	fmt.Fprintln(out.Progress, "verifying the backup")
	for _, file := range m.Files {
		if err := transfer.WriteObject(ctx, backups, file.object(), io.Discard); err != nil {
			return fmt.Errorf("read the file %s of the database back: %w", file.Name, err)
		}
	}
	docs, err := open(ctx, checkpoint)
	if err != nil {
		return fmt.Errorf("open the copy of the database: %w", err)
	}
	m.Verified, err = verify.Run(ctx, verify.Options{Documents: docs, Objects: backups, WithoutContent: true, Report: out.Report})
	return errors.Join(err, docs.Close())
}

// interval is the time between two lines about progress.
const interval = 10 * time.Second

// meter counts copied items and bytes, and prints them with the rate at intervals.
type meter struct {
	out              Output
	what             string
	began, printedAt time.Time
	count            int
	bytes            int64
}

func newMeter(out Output, what string) *meter {
	now := out.Clock()
	return &meter{out: out, what: what, began: now, printedAt: now}
}

func (m *meter) print(when string) {
	m.printedAt = m.out.Clock()
	seconds := max(m.printedAt.Sub(m.began).Seconds(), 0.001)
	fmt.Fprintf(m.out.Progress, "%s: %d copied%s, %.1f MB, %.1f MB/s\n", m.what, m.count, when, float64(m.bytes)/1e6, float64(m.bytes)/1e6/seconds)
}

// Write counts bytes that were copied.
func (m *meter) Write(p []byte) (int, error) {
	m.bytes += int64(len(p))
	if m.out.Clock().Sub(m.printedAt) >= interval {
		m.print(" so far")
	}
	return len(p), nil
}

func (m *meter) end() { m.print("") }

// wrap returns the object store with a Put that the meter counts.
func (m *meter) wrap(objects storage.Objects) storage.Objects { return metered{objects, m} }

type metered struct {
	storage.Objects
	meter *meter
}

func (o metered) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	object, err := o.Objects.Put(ctx, scope, io.TeeReader(r, o.meter), size)
	if err == nil {
		o.meter.count++
	}
	return object, err
}
