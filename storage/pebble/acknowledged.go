package pebble

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage/pebble/manifest"
	"attestry/storage/pebble/wal"
)

const (
	// acknowledgedName is the file that records how far writes were acknowledged.
	acknowledgedName = "acknowledged"
	// acknowledgedInterval is how often the file is written. A loss of groups acknowledged since then is not detected.
	acknowledgedInterval = time.Second
)

var (
	errDamagedFile  = errors.New("a file of the database is damaged")
	errLost         = errors.New("acknowledged writes are missing")
	errAcknowledged = errors.New("the file that says what was acknowledged is damaged")
)

// acknowledged is what was durable in a database at some moment. Groups shows the loss of the end of a log: then the
// catalog, which counts groups too, has fewer.
type acknowledged struct {
	Groups uint64 `json:"groups"`
	// Manifest is the name of the manifest in use. It had at least ManifestBytes.
	Manifest      string `json:"manifest,omitempty"`
	ManifestBytes int64  `json:"manifest_bytes,omitempty"`
}

// readAcknowledged reads the file. A checkpoint and a folder of an earlier version have none: the result is zero.
func readAcknowledged(folder string) (a acknowledged, err error) {
	content, err := os.ReadFile(filepath.Join(folder, acknowledgedName))
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	if len(content) < 4 || binary.BigEndian.Uint32(content) != crc32.ChecksumIEEE(content[4:]) {
		return a, fmt.Errorf("%w: %s", errAcknowledged, acknowledgedName)
	}
	if err := json.Unmarshal(content[4:], &a); err != nil {
		return a, fmt.Errorf("%w: %s: %w", errAcknowledged, acknowledgedName, err)
	}
	return a, nil
}

// write replaces the file by renaming a new one.
func (a *acknowledged) write(folder string) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	content := append(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(text)), text...)
	temporary := filepath.Join(folder, acknowledgedName+".new")
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return os.Rename(temporary, filepath.Join(folder, acknowledgedName))
}

// checkFiles refuses a folder whose manifest is damaged, that has lost acknowledged writes, or whose disk has no room
// to open it. It changes no file. Pebble itself would open what is left and delete the rest.
func checkFiles(folder string, files *filesystem, settings func() *pebble.Options) error {
	known, err := readAcknowledged(folder)
	if err != nil {
		return err
	}
	used, err := manifest.Read(folder)
	if err != nil {
		return err
	}
	if older(used.Name, known.Manifest) {
		return fmt.Errorf("%w: the last manifest was %s", manifest.ErrMissing, known.Manifest)
	}
	// A power loss can leave an incomplete chunk at the end, but only after the bytes that were synced.
	if least := known.ManifestBytes; used.Whole < used.Size && (older(known.Manifest, used.Name) || used.Whole < least) || used.Name == known.Manifest && used.Size < least {
		return fmt.Errorf("%w: %s, at byte %d of %d", errDamagedFile, used.Name, used.Whole, max(used.Size, least))
	}
	if used.Name == "" {
		return nil
	}
	found, err := inspect(folder, settings)
	if err != nil {
		if used.Whole < used.Size {
			// The rest of the manifest names other tables than its beginning, whose tables may be deleted.
			err = fmt.Errorf("%w: %s, at byte %d of %d: %w", errDamagedFile, used.Name, used.Whole, used.Size, err)
		}
		return err
	}
	if found.groups < known.Groups {
		return fmt.Errorf("%w: %d of %d groups of writes are there, so the end of a log (*.log) is gone", errLost, found.groups, known.Groups)
	}
	return checkRoomToOpen(files, found.logged)
}

// record writes the current state to the file, with the size of the manifest if all of it is synced.
func (db *DB) record(synced bool) error {
	used, err := manifest.Find(db.folder)
	if err != nil {
		return err
	}
	has := acknowledged{Groups: db.acknowledged.Load(), Manifest: used.Name}
	if synced {
		has.ManifestBytes = used.Size
	}
	return has.write(db.folder)
}

// recordAcknowledged returns the periodic job that writes the file after a change.
func (db *DB) recordAcknowledged() func(context.Context) error {
	var written, seen acknowledged
	return func(context.Context) error {
		next := acknowledged{Groups: db.acknowledged.Load(), Manifest: seen.Manifest, ManifestBytes: seen.ManifestBytes}
		if next != written && next.write(db.folder) == nil {
			written = next
		}
		// The size is written at the next call: the manifest is synced by then.
		if used, err := manifest.Find(db.folder); err == nil {
			seen.Manifest, seen.ManifestBytes = used.Name, used.Size
		}
		return nil
	}
}

type content struct {
	groups uint64
	// logged is an upper bound of the bytes that are only in the logs.
	logged uint64
}

// inspect reads what a database has without changing its files. The groups in its logs must continue those in its
// tables: a gap is a lost log, or a table that the manifest does not name.
func inspect(folder string, settings func() *pebble.Options) (content, error) {
	if err := checkOptions(folder, settings()); err != nil {
		return content{}, err
	}
	flushed, err := inspectFiles(folder, settings(), &wal.ReadFS{HideLogs: true})
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
		// The first inspection has read everything else, so the error is in this log. Pebble does not name it.
		err = fmt.Errorf("%s: %w", files.Logs[len(files.Logs)-1], err)
	}
	return found, err
}

// checkOptions refuses a damaged OPTIONS file with an error that names it. The errors of Pebble do not.
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

// older reports whether a file has a lower number than another of its kind. Numbers have at least six digits.
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
