package pebble

import (
	"os"
	"strings"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
)

// addTable writes a table. Open reads only its beginning, where the catalog is.
func addTable(t *testing.T, db *DB) {
	t.Helper()
	for i := range 40 {
		evidencetest.Must(t, db.engine.Set([]byte{9, 9, 9, 9, byte(i)}, bulky("").Body[:8<<10], nil))
	}
	evidencetest.Must(t, db.engine.Flush())
}

func TestDamagedTableIsCompactedOnce(t *testing.T) {
	folder := t.TempDir()
	db := openOn(t, folder, nil)
	addTable(t, db)
	evidencetest.Must(t, db.Close())
	for _, table := range tablesIn(t, folder) {
		content, err := os.ReadFile(table)
		evidencetest.Must(t, err)
		content[len(content)/2] ^= 0x40
		evidencetest.Must(t, os.WriteFile(table, content, 0o600))
	}
	db = openOn(t, folder, nil)
	for db.engine.Metrics().Compact.FailedCount == 0 {
		addTable(t, db)
	}
	for range 20 {
		addTable(t, db)
	}
	if failed := db.engine.Metrics().Compact.FailedCount; failed > 1 {
		t.Errorf("%d compactions failed", failed)
	}
	if damage := db.Damage(); !strings.Contains(damage, ".sst") || !strings.Contains(damage, folder) {
		t.Errorf("the damage is %q", damage)
	}
}

func TestErrorsAreLoggedOnceAnHour(t *testing.T) {
	l, now := &logger{}, time.Now()
	for _, row := range []struct {
		key   string
		after time.Duration
		want  bool
	}{
		{"a", 0, true}, {"b", 0, true}, {"a", time.Minute, false}, {"b", 59 * time.Minute, false}, {"a", time.Hour, true},
	} {
		if got := l.isNew(row.key, now.Add(row.after)); got != row.want {
			t.Errorf("%s after %v is new: %v", row.key, row.after, got)
		}
	}
}
