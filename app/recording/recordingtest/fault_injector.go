package recordingtest

import (
	"context"
	"errors"
	"sync"

	"attestry/storage"
	"attestry/storage/storagetest"
)

// errKilled is what a dead process would see of the database.
var errKilled = errors.New("the process has died")

// faultInjector is an engine as one process sees it, to which something happens at one of
// its commands.
type faultInjector struct {
	storage.Documents
	// At is the number of the command, or of the write if OnlyWrites.
	At         int
	OnlyWrites bool
	// Before happens before the command. Dies ends the process there, or behind it
	// if Late.
	Before     func()
	Dies, Late bool

	mu       sync.Mutex
	n        int
	happened bool
	dead     bool
	underWay sync.RWMutex
}

// reached reports whether the process came to the command.
func (m *faultInjector) reached() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.happened
}

// idle waits until no command is under way.
func (m *faultInjector) idle() {
	m.underWay.Lock()
	defer m.underWay.Unlock()
}

// count counts a command and reports whether it is the one.
func (m *faultInjector) count(write bool) (now, dead bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return false, true
	}
	if !write && m.OnlyWrites {
		return false, false
	}
	m.n++
	if m.n == m.At {
		m.happened, m.dead = true, m.Dies
		return true, false
	}
	return false, false
}

func (m *faultInjector) command(write bool, run func() error) error {
	m.underWay.RLock()
	defer m.underWay.RUnlock()
	now, dead := m.count(write)
	if dead {
		return errKilled
	}
	if now && m.Before != nil {
		m.Before()
	}
	if now && m.Dies {
		if m.Late {
			_ = run()
		}
		return errKilled
	}
	return run()
}

func (m *faultInjector) Get(ctx context.Context, schema *storage.Schema, id string) (record storage.Record, err error) {
	err = m.command(false, func() (err error) { record, err = m.Documents.Get(ctx, schema, id); return err })
	return record, err
}

func (m *faultInjector) GetMany(ctx context.Context, schema *storage.Schema, ids []string) (records []storage.Record, err error) {
	err = m.command(false, func() (err error) { records, err = m.Documents.GetMany(ctx, schema, ids); return err })
	return records, err
}

func (m *faultInjector) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (page storage.Page, err error) {
	err = m.command(false, func() (err error) { page, err = m.Documents.Find(ctx, schema, query); return err })
	return page, err
}

func (m *faultInjector) Insert(ctx context.Context, schema *storage.Schema, record storage.Record) error {
	return m.command(true, func() error { return m.Documents.Insert(ctx, schema, record) })
}

func (m *faultInjector) InsertMany(ctx context.Context, schema *storage.Schema, records []storage.Record) (n int, err error) {
	err = m.command(true, func() (err error) { n, err = m.Documents.InsertMany(ctx, schema, records); return err })
	return n, err
}

func (m *faultInjector) Put(ctx context.Context, schema *storage.Schema, records ...storage.Record) error {
	return m.command(true, func() error { return m.Documents.Put(ctx, schema, records...) })
}

func (m *faultInjector) Replace(ctx context.Context, schema *storage.Schema, record storage.Record, revision int64) error {
	return m.command(true, func() error { return m.Documents.Replace(ctx, schema, record, revision) })
}

// Write gives the engine a command for each write.
func (m *faultInjector) Write(ctx context.Context, writes ...storage.Write) error {
	return storagetest.WriteOneByOne(writes, func(write storage.Write) error {
		return m.command(write.Kind != storage.WriteCheck, func() error { return m.Documents.Write(ctx, write) })
	})
}
