package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"attestry/app/verify"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/transfer"
)

const (
	// filesScope is the scope of database files, manifestScope that of manifests. No id of an organization begins so.
	filesScope    = "backup-files"
	manifestScope = "backup-manifests"
	// format is the version of the manifest format.
	format = 1
)

// Manifest describes a backup, which also has all objects of the backup store.
type Manifest struct {
	Format int       `json:"format"`
	MadeAt time.Time `json:"made_at"`
	// Files are those of the database.
	Files []File `json:"files"`
	// Verified is the result of verifying the backup.
	Verified verify.Result `json:"verified"`
}

// File is a file of a database.
type File struct {
	Name string `json:"name"`
	Key  string `json:"key"` // of the object with its content
	Size int64  `json:"size"`
}

func (f *File) object() *storage.Object {
	object, _ := storage.ParseObjectKey(f.Key) // check has parsed it
	object.Size = f.Size
	return &object
}

// Name returns the name of the backup: the time at which it was begun.
func (m *Manifest) Name() string { return m.MadeAt.Format(time.RFC3339) }

// Bytes returns the size of the database.
func (m *Manifest) Bytes() (total int64) {
	for _, file := range m.Files {
		total += file.Size
	}
	return total
}

// check refuses a manifest that this version cannot restore.
func (m *Manifest) check() error {
	if m.Format != format {
		return fmt.Errorf("the backup %s has format %d, this version restores format %d", m.Name(), m.Format, format)
	}
	for _, file := range m.Files {
		if _, err := storage.ParseObjectKey(file.Key); err != nil || file.Name != filepath.Base(file.Name) || !filepath.IsLocal(file.Name) {
			return fmt.Errorf("the manifest of the backup %s is damaged: it names the file %q with the key %q", m.Name(), file.Name, file.Key)
		}
	}
	return nil
}

// put stores the manifest, which makes the backup complete.
func (m *Manifest) put(ctx context.Context, backups storage.Objects) error {
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	_, err = backups.Put(ctx, manifestScope, bytes.NewReader(content), int64(len(content)))
	return err
}

// ErrNone reports a backup store without a complete backup.
var ErrNone = errors.New("there is no complete backup")

// Manifests returns the manifests of all complete backups, the oldest first, and the keys of those that are damaged.
func Manifests(ctx context.Context, backups storage.Objects) (found []Manifest, damaged []string, err error) {
	for object, err := range transfer.ObjectsIn(backups).All(ctx, manifestScope+"/") {
		if err != nil {
			return nil, nil, err
		}
		manifest, err := readManifest(ctx, backups, object)
		if errors.Is(err, transfer.ErrContent) {
			damaged = append(damaged, object.Key)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read the manifest %s: %w", object.Key, err)
		}
		found = append(found, manifest)
	}
	slices.SortStableFunc(found, func(a, b Manifest) int { return a.MadeAt.Compare(b.MadeAt) })
	return found, damaged, nil
}

// Choose returns the backup with a name, or the last one if the name is "". If a manifest is damaged, which may be that
// of the last one, it refuses to choose the last one.
func Choose(ctx context.Context, backups storage.Objects, name string) (Manifest, error) {
	found, damaged, err := Manifests(ctx, backups)
	names := evidence.Map(found, func(one Manifest) string { return one.Name() })
	switch {
	case err != nil:
		return Manifest{}, err
	case len(damaged) > 0 && name == "":
		return Manifest{}, fmt.Errorf("the manifest of a backup is damaged, maybe that of the last one: %s; name the backup to restore: %s", strings.Join(damaged, ", "), strings.Join(names, ", "))
	case len(found) == 0:
		return Manifest{}, ErrNone
	case name == "":
		return found[len(found)-1], found[len(found)-1].check()
	}
	if i := slices.Index(names, name); i >= 0 {
		return found[i], found[i].check()
	}
	return Manifest{}, fmt.Errorf("there is no backup %q; there are %s", name, strings.Join(names, ", "))
}

// readManifest reads a manifest and compares it with the SHA-256 of its key.
func readManifest(ctx context.Context, backups storage.Objects, object *storage.Object) (Manifest, error) {
	var content bytes.Buffer
	if err := transfer.WriteObject(ctx, backups, object, &content); err != nil {
		return Manifest{}, err
	}
	var manifest Manifest
	err := json.Unmarshal(content.Bytes(), &manifest)
	return manifest, err
}
