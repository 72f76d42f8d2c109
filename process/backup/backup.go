// Package backup copies the stores of the service to a place of their own while it runs, and back into empty ones.
//
// The place is an object store. It has the objects of the service under their keys, the files of the database's states under
// the SHA-256 of their content, and a manifest for each backup, which is stored last. So a backup adds only what the place
// does not have, and one that was interrupted has no manifest: it cannot be restored, and the next one continues it.
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
	// Folder is that of the database. The checkpoint is made beside it, where it takes hardly any room.
	Folder string
	Open   Opener
	// Objects is the object store as its engine opened it.
	Objects storage.Objects
	// HoldDeletions keeps the service from deleting objects until release is called.
	HoldDeletions func() (release func())
}

// Output is where progress, and what is damaged, is written to.
type Output struct {
	Clock    evidence.Clock
	Progress io.Writer
	Report   func(verify.Finding) error
}

// running is held by the one backup that this process makes at a time.
var running sync.Mutex

// Make makes a backup. It has every document that was acknowledged before it began, and all objects that these documents
// name: an object is stored before its document, and none is deleted until all are copied. It also has what is damaged, as
// far as it can be read, and reports that.
func Make(ctx context.Context, source Source, place storage.Objects, out Output) (Manifest, error) {
	if !running.TryLock() {
		return Manifest{}, errors.New("another backup is being made")
	}
	defer running.Unlock()
	release := sync.OnceFunc(source.HoldDeletions())
	defer release()
	made := Manifest{Format: format, MadeAt: out.Clock().UTC()}
	checkpoint := source.Folder + ".backup"
	// A killed process may have left one.
	if err := os.RemoveAll(checkpoint); err != nil {
		return made, err
	}
	if err := source.Checkpoint(ctx, checkpoint); err != nil {
		return made, err
	}
	defer os.RemoveAll(checkpoint)
	m := newMeter(out, "objects")
	if err := copyObjects(ctx, source.Objects, m.into(place), out); err != nil {
		return made, err
	}
	release()
	m.end()
	m = newMeter(out, "files of the database")
	var err error
	if made.Files, err = putFiles(ctx, checkpoint, m.into(place)); err != nil {
		return made, err
	}
	m.end()
	if err := made.verify(ctx, checkpoint, source.Open, place, out); err != nil {
		return made, err
	}
	return made, made.put(ctx, place)
}

// copyObjects copies the objects that another store lacks. Those that are damaged are reported.
func copyObjects(ctx context.Context, from, to storage.Objects, out Output) error {
	_, err := transfer.CopyMissing(ctx, from, to, func(object *storage.Object, err error) error {
		switch {
		case errors.Is(err, storage.ErrNotFound):
			return nil // such as the probe of a store, which is deleted at once; if a document names it, that is found later
		case errors.Is(err, transfer.ErrContent):
			return out.Report(verify.Finding{Where: object.Key, What: "it was not copied: " + transfer.ErrContent.Error()})
		}
		return err
	})
	return err
}

func putFiles(ctx context.Context, folder string, place storage.Objects) ([]File, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	files := make([]File, 0, len(entries))
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		file, err := putFile(ctx, filepath.Join(folder, entry.Name()), place)
		if err != nil {
			return nil, fmt.Errorf("copy the file %s of the database: %w", entry.Name(), err)
		}
		files = append(files, file)
	}
	return files, nil
}

// putFile stores a file, unless the place has one with its content.
func putFile(ctx context.Context, path string, place storage.Objects) (File, error) {
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
	known, err := place.Stat(ctx, file.Key)
	if err == nil && known.Size == size {
		return file, nil
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return File{}, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return File{}, err
	}
	_, err = place.Put(ctx, filesScope, transfer.Verified(content, sum), size)
	return file, err
}

// verify reads the files of a backup back, and opens the checkpoint that they are copies of: every document must decode, and
// the place have all objects that they name.
func (m *Manifest) verify(ctx context.Context, checkpoint string, open Opener, place storage.Objects, out Output) error {
	fmt.Fprintln(out.Progress, "verifying the backup")
	for _, file := range m.Files {
		if err := transfer.WriteObject(ctx, place, file.object(), io.Discard); err != nil {
			return fmt.Errorf("read the file %s of the database back: %w", file.Name, err)
		}
	}
	docs, err := open(ctx, checkpoint)
	if err != nil {
		return fmt.Errorf("open the copy of the database: %w", err)
	}
	m.Verified, err = verify.Run(ctx, verify.Options{Documents: docs, Objects: place, WithoutContent: true, Report: out.Report})
	return errors.Join(err, docs.Close())
}

// interval is the time between two lines about progress.
const interval = 10 * time.Second

// meter counts what is copied, and says now and then how fast.
type meter struct {
	out         Output
	what        string
	began, told time.Time
	count       int
	bytes       int64
}

func newMeter(out Output, what string) *meter {
	now := out.Clock()
	return &meter{out: out, what: what, began: now, told: now}
}

func (m *meter) tell(when string) {
	m.told = m.out.Clock()
	seconds := max(m.told.Sub(m.began).Seconds(), 0.001)
	fmt.Fprintf(m.out.Progress, "%s: %d copied%s, %.1f MB, %.1f MB/s\n", m.what, m.count, when, float64(m.bytes)/1e6, float64(m.bytes)/1e6/seconds)
}

// Write counts bytes that were copied.
func (m *meter) Write(p []byte) (int, error) {
	m.bytes += int64(len(p))
	if m.out.Clock().Sub(m.told) >= interval {
		m.tell(" so far")
	}
	return len(p), nil
}

func (m *meter) end() { m.tell("") }

// into is an object store for which the meter counts what is put into it.
func (m *meter) into(objects storage.Objects) storage.Objects { return metered{objects, m} }

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
