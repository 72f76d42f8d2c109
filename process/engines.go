package process

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"attestry/app"
	"attestry/config"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/mongodb"
	"attestry/storage/pebble"
	"attestry/storage/s3"
)

// OpenDocuments opens a database with the collections of the service. It refuses an incomplete copy, and a database of
// a newer version. The roots are those of config.Process.
func OpenDocuments(ctx context.Context, database config.Database, roots *x509.CertPool) (storage.Documents, error) {
	docs, err := OpenCopyTarget(ctx, database, roots)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(refuseIncompleteCopy(ctx, docs), refuseNewerForm(ctx, docs)); err != nil {
		return nil, errors.Join(err, docs.Close())
	}
	return docs, nil
}

// OpenCopyTarget opens a database with the collections of the service, even if it is an incomplete copy.
func OpenCopyTarget(ctx context.Context, database config.Database, roots *x509.CertPool) (storage.Documents, error) {
	schemas := append(app.Schemas(), copyMarkers, formSchema)
	if database.Engine == config.MongoDB {
		return mongodb.Open(ctx, mongodb.Options{URI: database.URI.Reveal(), Database: database.Name, RootCAs: roots, LeaveIndexes: database.LeaveIndexes}, schemas)
	}
	if err := os.MkdirAll(filepath.Dir(database.Path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the database: %w", err)
	}
	return pebble.Open(ctx, pebble.Options{Folder: database.Path, AcceptLoss: database.AcceptLoss}, schemas)
}

// HasDatabase reports whether there is an embedded database at its path. A path that cannot be read counts as one:
// opening it returns the error.
func HasDatabase(database config.Database) bool {
	entries, err := os.ReadDir(database.Path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	// Tables and logs belong to a database even if its manifest and marker are missing.
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		name := entry.Name()
		return strings.HasPrefix(name, "marker.manifest.") || strings.HasPrefix(name, "MANIFEST-") || slices.Contains([]string{".sst", ".log"}, filepath.Ext(name))
	})
}

// OpenObjects opens an object store, with a retention mode if retention is on. The roots are those of config.Process.
func OpenObjects(ctx context.Context, objects config.Objects, retention config.Retention, roots *x509.CertPool) (storage.Objects, error) {
	if objects.Engine == config.Filesystem {
		return filesystem.Open(objects.Path)
	}
	var mode s3.RetentionMode
	if retention.On() {
		mode = s3.RetentionMode(strings.ToUpper(string(retention.Mode)))
	}
	return s3.Open(ctx, s3.Options{
		Endpoint: objects.Endpoint, Secure: objects.Secure, Bucket: objects.Bucket,
		AccessKey: objects.AccessKey, SecretKey: objects.SecretKey, Retention: mode, RootCAs: roots, LeaveBucket: objects.LeaveBucket,
	})
}

// copyMarkers is the collection with one document while the database is an incomplete copy. It is not copied.
var copyMarkers = &storage.Schema{Name: "copy_markers"}

const copyMarker = "incomplete"

var errIncompleteCopy = errors.New("the database is an incomplete copy: run the same `scripts/admin copy` again until its exit status is 0, or name another database")

// BeginCopy marks a database as an incomplete copy: OpenDocuments refuses it until EndCopy.
func BeginCopy(ctx context.Context, docs storage.Documents) error {
	if err := docs.Write(ctx, storage.Write{
		Kind: storage.WritePut, Schema: copyMarkers, Record: storage.Record{ID: copyMarker, Revision: 1, Body: []byte("{}")},
	}); err != nil {
		return fmt.Errorf("mark the database as an incomplete copy: %w", err)
	}
	return nil
}

// EndCopy removes the marker of BeginCopy.
func EndCopy(ctx context.Context, docs storage.Documents) error {
	if err := docs.Write(ctx, storage.Write{Kind: storage.WriteDelete, Schema: copyMarkers, Record: storage.Record{ID: copyMarker}}); err != nil {
		return fmt.Errorf("mark the database as complete: %w", err)
	}
	return nil
}

func refuseIncompleteCopy(ctx context.Context, docs storage.Documents) error {
	_, err := docs.Get(ctx, copyMarkers, copyMarker)
	switch {
	case err == nil:
		return errIncompleteCopy
	case errors.Is(err, storage.ErrNotFound):
		return nil
	}
	return fmt.Errorf("find out whether the database is an incomplete copy: %w", err)
}
