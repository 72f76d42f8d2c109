package pebble

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage/pebble/manifest"
)

const (
	// acknowledgedName is the file beside those of Pebble that says what has been acknowledged.
	acknowledgedName = "acknowledged"
	// acknowledgedInterval is how often it is written while there are writes: what was acknowledged
	// later can be lost without notice if the end of a log is.
	acknowledgedInterval = time.Second
)

var (
	errDamagedFile  = errors.New("a file of the database is damaged")
	errLost         = errors.New("acknowledged writes are missing")
	errAcknowledged = errors.New("the file that says what was acknowledged is damaged")
)

// acknowledged is what a database had durable at a moment. Its groups are counted in the catalog as well,
// so that a database of which the end of a log is gone has fewer of them.
type acknowledged struct {
	Groups uint64 `json:"groups"`
	// Manifest was in use, and had at least so many bytes on the disk.
	Manifest      string `json:"manifest,omitempty"`
	ManifestBytes int64  `json:"manifest_bytes,omitempty"`
}

// readAcknowledged reads what a folder has had. One that has no such file, as a copy has none and an
// earlier version wrote none, has had nothing that is known.
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

// write replaces the file. Until it is there the former one counts.
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

// checkFiles refuses a folder whose manifest is damaged, that lacks what was acknowledged, or that has no
// room to be opened. It changes nothing there: Pebble itself would go on with what is left, and delete the rest.
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
		return fmt.Errorf("%w: it has had %s", manifest.ErrMissing, known.Manifest)
	}
	// Only a loss of power leaves a part of a chunk at the end, and only of what was not synced.
	if least := known.ManifestBytes; used.Whole < used.Size && (older(known.Manifest, used.Name) || used.Whole < least) || used.Name == known.Manifest && used.Size < least {
		return fmt.Errorf("%w: %s, at byte %d of %d", errDamagedFile, used.Name, used.Whole, max(used.Size, least))
	}
	if used.Name == "" {
		return nil
	}
	found, err := inspect(folder, settings)
	if err != nil {
		return err
	}
	if found.groups < known.Groups {
		return fmt.Errorf("%w: %d of %d groups of writes are there, so the end of a log (*.log) is gone", errLost, found.groups, known.Groups)
	}
	return checkRoomToOpen(files, found.logged)
}

// recordAll writes what a database has that was closed. If it cannot, what was written before counts.
func (db *DB) recordAll() {
	used, err := manifest.Find(db.folder)
	if err != nil {
		return
	}
	last := acknowledged{Groups: db.acknowledged.Load(), Manifest: used.Name, ManifestBytes: used.Size}
	_ = last.write(db.folder)
}

// recordAccepted replaces what a database has had by what it has, as the loss of the rest was accepted:
// without that, the next start after a crash would have to be told again.
func (db *DB) recordAccepted() error {
	used, err := manifest.Find(db.folder)
	if err != nil {
		return err
	}
	// Not all bytes of the manifest may be synced.
	left := acknowledged{Groups: db.acknowledged.Load(), Manifest: used.Name}
	return left.write(db.folder)
}

// recordAcknowledged writes what was acknowledged, for as long as the database is open.
func (db *DB) recordAcknowledged() {
	ticker := time.NewTicker(acknowledgedInterval)
	defer ticker.Stop()
	var written, seen acknowledged
	for {
		select {
		case <-db.closing:
			return
		case <-ticker.C:
		}
		next := acknowledged{Groups: db.acknowledged.Load(), Manifest: seen.Manifest, ManifestBytes: seen.ManifestBytes}
		if next != written && next.write(db.folder) == nil {
			written = next
		}
		// What the manifest has now is synced by the next time.
		if used, err := manifest.Find(db.folder); err == nil {
			seen.Manifest, seen.ManifestBytes = used.Name, used.Size
		}
	}
}
