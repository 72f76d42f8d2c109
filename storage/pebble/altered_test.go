package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pebble/wal"
)

const (
	// alteredStep is the distance between altered bytes; each copy has one of them.
	alteredStep = 97
	// alteredShort is the number of altered bytes with -short, without those in the zeros of logs.
	alteredShort = 100
	// zeroStep is the distance between altered bytes in the zeros at the end of a log.
	zeroStep      = 97 * 61
	zeroStepShort = zeroStep * 12
)

// damage is one change of one file.
type damage struct {
	file, change string
	// content returns the new content of the file; nil removes the file.
	content func(before []byte) []byte
	// whole is the last group whose records must all be stored.
	whole uint64
}

// TestDamageIsNeverSilent damages copies of databases whose process was killed under load, and opens each. Every record
// must be stored, or Open must fail with the name of the damaged file, or a read must report the damage. Only the end
// of the newest log may be missing: the last group of writes if a byte is altered; if the log is cut or removed, the
// groups that were acknowledged after the file of acknowledged groups was written.
func TestDamageIsNeverSilent(t *testing.T) {
	former := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(former) })
	for _, moment := range []string{whileFlushing, withSeveralLogs} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			k := kill(t, moment)
			files := k.read(t)
			t.Logf("%d records in %d groups, %d of them recorded, in %v", len(k.acknowledged), k.last, k.recorded, sizesOf(files))
			if k.start(t, files, damage{file: "other", content: bytes.Clone, whole: k.last}) {
				t.Fatal("the database as it was killed is refused")
			}
			k.startEach(t, files)
			if after := k.read(t); !maps.EqualFunc(files, after, bytes.Equal) {
				t.Error("the database itself was changed")
			}
		})
	}
}

// startEach opens a copy of the database for each damage.
func (k *killed) startEach(t *testing.T, files map[string][]byte) {
	t.Helper()
	all := k.damages(files)
	work := make(chan damage)
	var workers sync.WaitGroup
	refused := make([]int, runtime.GOMAXPROCS(0))
	for i := range refused {
		workers.Go(func() {
			for one := range work {
				if k.start(t, files, one) {
					refused[i]++
				}
			}
		})
	}
	for _, one := range all {
		work <- one
	}
	close(work)
	workers.Wait()
	t.Logf("%d starts, %v refused", len(all), refused)
}

// read returns the content of all files.
func (k *killed) read(t *testing.T) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(k.folder)
	evidencetest.Must(t, err)
	files := map[string][]byte{}
	for _, entry := range entries {
		files[entry.Name()], err = os.ReadFile(filepath.Join(k.folder, entry.Name()))
		evidencetest.Must(t, err)
	}
	return files
}

func sizesOf(files map[string][]byte) (sizes []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sizes = append(sizes, fmt.Sprint(name, ":", usedOf(files[name])))
	}
	return sizes
}

// usedOf returns how many bytes a file has without the zeros at its end.
func usedOf(content []byte) int { return len(bytes.TrimRight(content, "\x00")) }

// damages returns all damages to test, or with -short a part of them.
func (k *killed) damages(files map[string][]byte) (all []damage) {
	newest := ""
	bytesUsed := 0
	for name, content := range files {
		if wal.Is(name) {
			newest = max(newest, name)
		}
		bytesUsed += usedOf(content)
	}
	usedStep, zeros := alteredStep, zeroStep
	if testing.Short() {
		usedStep, zeros = max(usedStep, bytesUsed/alteredShort), zeroStepShort
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		cut, altered := k.last, k.last
		if name == newest {
			cut, altered = k.recorded, max(k.recorded, k.last-1)
		}
		half := usedOf(files[name]) / 2
		all = append(all,
			damage{name, "removed", nil, cut},
			damage{name, "emptied", func([]byte) []byte { return []byte{} }, cut},
			damage{name, "cut in half", func(before []byte) []byte { return before[:half] }, cut})
		step := usedStep
		for at := step / 2; at < len(files[name]); at += step {
			if at > usedOf(files[name]) {
				step = max(step, zeros)
			}
			bit := byte(1) << (at % 8)
			all = append(all, damage{name, fmt.Sprintf("byte %d altered", at), func(before []byte) []byte {
				after := bytes.Clone(before)
				after[at] ^= bit
				return after
			}, altered})
		}
	}
	return all
}

// start opens a copy of the database with one damage, checks its records, and reports whether Open refused it.
func (k *killed) start(t *testing.T, files map[string][]byte, one damage) (refused bool) {
	folder, err := os.MkdirTemp(filepath.Dir(k.folder), "copy")
	if err != nil {
		t.Error(err)
		return false
	}
	defer os.RemoveAll(folder)
	if err := k.copyTo(folder, files, one); err != nil {
		t.Error(err)
		return false
	}
	db, err := Open(t.Context(), Options{Folder: folder, CacheBytes: 8 << 20}, []*storage.Schema{plainSchema()})
	if err != nil {
		if !one.namedIn(err.Error()) || !strings.Contains(err.Error(), folder) {
			t.Errorf("%s %s: it is refused with %q", one.file, one.change, err)
		}
		return true
	}
	defer db.Close()
	if err := k.check(t, db, one.whole); err != nil {
		t.Errorf("%s %s: %v", one.file, one.change, err)
	}
	return false
}

// copyTo copies the database with one damage. Pebble does not change existing files, so the others are hard links,
// except for the file that it locks.
func (k *killed) copyTo(folder string, files map[string][]byte, one damage) error {
	for name := range files {
		copied := filepath.Join(folder, name)
		var err error
		switch {
		case name == one.file && one.content != nil:
			err = os.WriteFile(copied, one.content(files[name]), 0o600)
		case name == one.file:
		case name == "LOCK":
			err = os.WriteFile(copied, nil, 0o600)
		default:
			err = os.Link(filepath.Join(k.folder, name), copied)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// namedIn reports whether an error names the damaged file. Pebble names a table by its number. Of a missing log or
// marker only the kind is known. A manifest that ends too early, but between two changes, can name deleted tables.
func (d damage) namedIn(message string) bool {
	if d.change == "cut in half" && strings.HasPrefix(d.file, "MANIFEST-") && strings.Contains(message, "(type sstable)") {
		return true
	}
	name := strings.TrimSuffix(d.file, ".sst")
	if kind := strings.SplitN(name, ".", 3); kind[0] == "marker" {
		name = strings.Join(kind[:2], ".")
	}
	return strings.Contains(message, name) || wal.Is(name) && strings.Contains(message, "(*.log)")
}

// check reads all acknowledged records: those of groups up to whole must be stored, unless the read reports damage.
func (k *killed) check(t *testing.T, db *DB, whole uint64) error {
	for id, groups := range k.acknowledged {
		switch record, err := db.Get(t.Context(), plainSchema(), id); {
		case errors.Is(err, storage.ErrDamaged):
		case groups > whole && errors.Is(err, storage.ErrNotFound):
		case err != nil:
			return fmt.Errorf("read %s of group %d: %w", id, groups, err)
		case !bytes.Equal(record.Body, plain(id).Body):
			return fmt.Errorf("%s is read as %q", id, record.Body)
		}
	}
	found := map[string]bool{}
	query := storage.Query{Index: "org", Equal: []any{"o"}, Limit: storage.MaxMany}
	for {
		page, err := db.Find(t.Context(), plainSchema(), query)
		if errors.Is(err, storage.ErrDamaged) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, record := range page.Records {
			found[record.ID] = true
		}
		if page.Next == "" {
			break
		}
		query.After = page.Next
	}
	for id, groups := range k.acknowledged {
		if groups <= whole && !found[id] {
			return fmt.Errorf("the index lacks %s of group %d", id, groups)
		}
	}
	return nil
}
