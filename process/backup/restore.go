package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"attestry/app/verify"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/logs"
	"attestry/storage/transfer"
)

// Target is where a backup is restored.
type Target struct {
	// Folder is that of the database. It must not exist, or be empty.
	Folder string
	Open   Opener
	// Objects must not have objects that the backup store lacks.
	Objects storage.Objects
	// ContinueLogs means that no checkpoint of a transparency log was published after the backup.
	ContinueLogs bool
}

// Restored is the result of a restore.
type Restored struct {
	Verified verify.Result
	// Halted has the reasons why transparency logs are not continued, by the ids of their organizations.
	Halted map[string]string
}

// Restore restores the objects, then the database, whose folder is renamed to its final name after verification. So an
// interrupted restore leaves no database and can be repeated.
func Restore(ctx context.Context, backups storage.Objects, chosen *Manifest, to Target, out Output) (Restored, error) {
	if err := refuseUsed(ctx, backups, to); err != nil {
		return Restored{}, err
	}
	m := newMeter(out, "objects")
	if err := copyObjects(ctx, service{backups}, m.wrap(to.Objects), out); err != nil {
		return Restored{}, err
	}
	m.end()
	m = newMeter(out, "files of the database")
	folder := to.Folder + ".restoring"
	if err := writeFiles(ctx, backups, chosen.Files, folder, m); err != nil {
		return Restored{}, err
	}
	m.end()
	fmt.Fprintln(out.Progress, "verifying what was restored")
	docs, err := to.Open(ctx, folder)
	if err != nil {
		return Restored{}, err
	}
	restored, err := prepare(ctx, docs, chosen, to, out)
	if err := errors.Join(err, docs.Close()); err != nil {
		return restored, err
	}
	if err := os.Remove(to.Folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return restored, err
	}
	if err := os.Rename(folder, to.Folder); err != nil {
		return restored, err
	}
	return restored, filesystem.SyncFolder(filepath.Dir(to.Folder))
}

// refuseUsed refuses stores with other data, as a database and objects of different origin do not match.
func refuseUsed(ctx context.Context, backups storage.Objects, to Target) error {
	entries, err := os.ReadDir(to.Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("the folder of the database is not empty: %s; move it away, or name another one", to.Folder)
	}
	for p, err := range transfer.Merge(ctx, transfer.ObjectsIn(service{backups}), transfer.ObjectsIn(to.Objects)) {
		if err != nil {
			return err
		}
		if p.Source == nil {
			return fmt.Errorf("the object store is not empty: it has the object %s, which is not in the backup; name an empty object store", p.Target.Key)
		}
	}
	return nil
}

// service is a backup store that lists only the objects of the service.
type service struct{ storage.Objects }

func (s service) List(ctx context.Context, after string, limit int) ([]storage.Object, error) {
	for {
		page, err := s.Objects.List(ctx, after, limit)
		if err != nil || len(page) == 0 {
			return nil, err
		}
		after = page[len(page)-1].Key
		page = slices.DeleteFunc(page, func(object storage.Object) bool {
			return strings.HasPrefix(object.Key, filesScope+"/") || strings.HasPrefix(object.Key, manifestScope+"/")
		})
		if len(page) > 0 {
			return page, nil
		}
	}
}

// writeFiles writes files to a folder. It removes the folder first, if there is one.
func writeFiles(ctx context.Context, backups storage.Objects, files []File, folder string, m *meter) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for i := range files {
		if err := writeFile(ctx, backups, &files[i], folder, m); err != nil {
			return fmt.Errorf("restore the file %s of the database: %w", files[i].Name, err)
		}
		m.count++
	}
	return filesystem.SyncFolder(folder)
}

func writeFile(ctx context.Context, backups storage.Objects, file *File, folder string, m *meter) error {
	written, err := os.OpenFile(filepath.Join(folder, file.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = transfer.WriteObject(ctx, backups, file.object(), io.MultiWriter(written, m))
	if err == nil {
		err = written.Sync()
	}
	return errors.Join(err, written.Close())
}

// prepare verifies a restored database, and marks its transparency logs as possibly behind their published checkpoints.
// The objects were verified when they were copied.
func prepare(ctx context.Context, docs storage.Documents, chosen *Manifest, to Target, out Output) (Restored, error) {
	restored := Restored{}
	var err error
	restored.Verified, err = verify.Run(ctx, verify.Options{Documents: docs, Objects: to.Objects, WithoutContent: true, Report: out.Report})
	if err != nil {
		return restored, err
	}
	reason := ""
	if !to.ContinueLogs {
		reason = "the database was restored from the backup of " + chosen.Name() + ", and checkpoints may have been published since"
	}
	restored.Halted, err = logs.New(docs, to.Objects).RecordRestore(ctx, reason)
	return restored, err
}
