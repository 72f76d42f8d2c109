package process

import (
	"context"
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

// OpenDocuments opens a database with the collections of the service, unless it is an incomplete copy.
func OpenDocuments(ctx context.Context, database config.Database) (storage.Documents, error) {
	docs, err := openDocuments(ctx, database)
	if err != nil {
		return nil, err
	}
	if err := refuseIncompleteCopy(ctx, docs); err != nil {
		return nil, errors.Join(err, docs.Close())
	}
	return docs, nil
}

func openDocuments(ctx context.Context, database config.Database) (storage.Documents, error) {
	schemas := append(app.Schemas(), copyMarkers)
	if database.Engine == config.MongoDB {
		return mongodb.Open(ctx, mongodb.Options{URI: database.URI.Reveal(), Database: database.Name}, schemas)
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
	// Where its manifest or the marker is gone, the tables and logs are still those of a database.
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		name := entry.Name()
		return strings.HasPrefix(name, "marker.manifest.") || strings.HasPrefix(name, "MANIFEST-") || slices.Contains([]string{".sst", ".log"}, filepath.Ext(name))
	})
}

// retentionModes are the modes of the settings, as the engine calls them.
var retentionModes = map[config.RetentionMode]s3.RetentionMode{config.Governance: s3.Governance, config.Compliance: s3.Compliance}

// OpenObjects opens an object store, with a retention if that is on.
func OpenObjects(ctx context.Context, objects config.Objects, kept config.Retention) (storage.Objects, error) {
	if objects.Engine == config.Filesystem {
		return filesystem.Open(objects.Path)
	}
	var mode s3.RetentionMode
	if kept.On() {
		mode = retentionModes[kept.Mode]
	}
	return s3.Open(ctx, s3.Options{
		Endpoint: objects.Endpoint, Secure: objects.Secure, Bucket: objects.Bucket,
		AccessKey: objects.AccessKey, SecretKey: objects.SecretKey, Retention: mode,
	})
}
