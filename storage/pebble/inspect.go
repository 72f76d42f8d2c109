package pebble

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage/pebble/manifest"
	"attestry/storage/pebble/wal"
)

type content struct {
	groups uint64
	// logged bounds how many bytes are only in its logs.
	logged uint64
}

// inspect reads what a database has without changing its files. The groups in its logs must continue those in
// its tables without a gap: a gap is a log that is gone, or a table that the manifest does not name any more.
func inspect(folder string, settings func() *pebble.Options) (content, error) {
	if err := checkOptions(folder, settings()); err != nil {
		return content{}, err
	}
	flushed, err := inspectFiles(folder, settings(), &wal.ReadFS{Without: true})
	if errors.Is(err, pebble.ErrDBNotPristine) {
		err = fmt.Errorf("%w: marker.format-version: %w", manifest.ErrMissing, err)
	}
	if err != nil {
		return content{}, err
	}
	files := &wal.ReadFS{}
	found, err := inspectFiles(folder, settings(), files)
	if lost := wal.CheckGroups(folder, files.Logs, string(space{}.key(groupsName)), flushed.groups); lost != nil {
		return content{}, lost
	}
	if err != nil && len(files.Logs) > 0 {
		// All else was read before, and Pebble does not name the log.
		err = fmt.Errorf("%s: %w", files.Logs[len(files.Logs)-1], err)
	}
	return found, err
}

// checkOptions refuses a damaged file of options with its name, which Pebble does not tell.
func checkOptions(folder string, settings *pebble.Options) error {
	names, err := settings.FS.List(folder)
	if err != nil {
		return err
	}
	newest := ""
	for _, name := range names {
		if strings.HasPrefix(name, "OPTIONS-") && older(newest, name) {
			newest = name
		}
	}
	if newest == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(folder, newest))
	if err != nil {
		return err
	}
	settings.EnsureDefaults()
	if err := settings.CheckCompatibility(folder, string(text)); err != nil {
		return fmt.Errorf("%w: %s: %w", errDamagedFile, newest, err)
	}
	return nil
}

// older reports whether a file has a lower number than another one of its kind. Numbers have at least six digits.
func older(name, other string) bool {
	return cmp.Or(cmp.Compare(len(name), len(other)), cmp.Compare(name, other)) < 0
}

func inspectFiles(folder string, settings *pebble.Options, files *wal.ReadFS) (found content, err error) {
	files.FS = settings.FS
	settings.FS, settings.ReadOnly = files, true
	engine, err := pebble.Open(folder, settings)
	if err != nil {
		return content{}, err
	}
	catalog, err := readCatalog(engine)
	if err == nil {
		found = content{groups: catalog.groups, logged: engine.Metrics().MemTable.Size}
	}
	return found, closeAfter(engine, err)
}
