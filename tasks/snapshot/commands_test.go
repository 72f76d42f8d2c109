package snapshot_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"attestry/storage"
)

// meter counts the commands that pass through it and the bytes they write.
type meter struct {
	storage.Documents
	mu       sync.Mutex
	commands []string
	written  int
}

func (m *meter) note(command string, schema *storage.Schema, records ...storage.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands = append(m.commands, command+" "+schema.Name)
	for _, record := range records {
		fields, _ := json.Marshal(record.Fields)
		m.written += len(record.ID) + len(record.Body) + len(fields)
	}
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands, m.written = nil, 0
}

func (m *meter) Get(ctx context.Context, s *storage.Schema, id string) (storage.Record, error) {
	m.note("get", s)
	return m.Documents.Get(ctx, s, id)
}

func (m *meter) GetMany(ctx context.Context, s *storage.Schema, ids []string) ([]storage.Record, error) {
	m.note("get many", s)
	return m.Documents.GetMany(ctx, s, ids)
}

func (m *meter) Insert(ctx context.Context, s *storage.Schema, r storage.Record) error {
	m.note("insert", s, r)
	return m.Documents.Insert(ctx, s, r)
}

func (m *meter) InsertMany(ctx context.Context, s *storage.Schema, rs []storage.Record) (int, error) {
	m.note("insert many", s, rs...)
	return m.Documents.InsertMany(ctx, s, rs)
}

func (m *meter) Put(ctx context.Context, s *storage.Schema, rs ...storage.Record) error {
	m.note("put", s, rs...)
	return m.Documents.Put(ctx, s, rs...)
}

func (m *meter) Replace(ctx context.Context, s *storage.Schema, r storage.Record, revision int64) error {
	m.note("replace", s, r)
	return m.Documents.Replace(ctx, s, r, revision)
}

func (m *meter) Delete(ctx context.Context, s *storage.Schema, ids ...string) error {
	m.note("delete", s)
	return m.Documents.Delete(ctx, s, ids...)
}

func (m *meter) Find(ctx context.Context, s *storage.Schema, q storage.Query) (storage.Page, error) {
	m.note("find", s)
	return m.Documents.Find(ctx, s, q)
}

// maxWorkerCommands is what a changed report may cost the worker, however large
// it is.
const maxWorkerCommands = 12

// TestOneChangeCostsTheWorkerTheSameInAnyReport pins commands and bytes: neither
// may grow with what has not changed.
func TestOneChangeCostsTheWorkerTheSameInAnyReport(t *testing.T) {
	written := map[int]int{}
	for _, n := range []int{100, 10_000} {
		var counted *meter
		s := newScene(t, func(docs storage.Documents) storage.Documents {
			counted = &meter{Documents: docs}
			return counted
		})
		s.accept(t, fleet(n))
		s.drain(t)
		most := 0
		for change := range 8 {
			s.accept(t, fleet(n, change))
			counted.reset()
			s.drain(t)
			if len(counted.commands) > maxWorkerCommands {
				t.Errorf("%d artifacts: %d commands: %v", n, len(counted.commands), counted.commands)
			}
			most = max(most, counted.written)
		}
		written[n] = most
		t.Logf("%d artifacts, two changed: %d commands, at most %d bytes", n, len(counted.commands), most)
	}
	// Two changed chunks of at most 128 entries and their parents: with 100
	// artifacts that is nearly everything, with 10,000 still no more than a few
	// chunks.
	if most := 128 << 10; written[10_000] > most {
		t.Errorf("%d bytes written for two changes among 10,000 artifacts", written[10_000])
	}
}

func TestUnchangedReportCostsTheSameInAnyEnvironment(t *testing.T) {
	for _, n := range []int{10, 10_000} {
		var counted *meter
		s := newScene(t, func(docs storage.Documents) storage.Documents {
			counted = &meter{Documents: docs}
			return counted
		})
		report := fleet(n)
		s.accept(t, report)
		s.drain(t)
		s.clock.turn(minute)
		counted.reset()
		s.accept(t, report)
		if len(counted.commands) > 4 {
			t.Errorf("%d artifacts: %v", n, counted.commands)
		}
	}
}
