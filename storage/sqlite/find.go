package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"attestry/storage"
)

// maxChunk is how many entries are read off an index at a time.
const maxChunk = 512

// Find answers a query.
func (db *DB) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	table, err := db.table(schema)
	if err != nil {
		return storage.Page{}, err
	}
	scan, err := storage.NewScan(schema, query)
	if err != nil {
		return storage.Page{}, err
	}
	var page storage.Page
	err = db.snapshot(ctx, func(s *session) error {
		if err := newFinder(s, table, scan, query).run(ctx); err != nil {
			return err
		}
		if page, err = scan.Page(); err != nil || query.FieldsOnly {
			return err
		}
		return table.loadBodies(ctx, s, page.Records)
	})
	return page, err
}

// Count counts what a query finds, at most storage.MaxCount.
func (db *DB) Count(ctx context.Context, schema *storage.Schema, query storage.Query) (int64, error) {
	table, err := db.table(schema)
	if err != nil {
		return 0, err
	}
	if err := storage.CheckCount(schema, query); err != nil {
		return 0, err
	}
	index, _ := schema.IndexNamed(query.Index)
	total := int64(0)
	err = db.snapshot(ctx, func(s *session) error {
		for _, equal := range query.EqualLists() {
			count := table.count(index, equal, query)
			count.args = append(count.args, storage.MaxCount-total)
			err := s.query(count.text, count.args, func(rows *sql.Rows) error {
				n := int64(0)
				err := rows.Scan(&n)
				total += n
				return err
			})
			if err != nil || total == storage.MaxCount {
				return err
			}
		}
		return ctx.Err()
	})
	return total, err
}

// loadBodies completes records that were found in the same snapshot.
func (t *table) loadBodies(ctx context.Context, s *session, records []storage.Record) error {
	places := make(map[string]int, len(records))
	ids := make([]string, len(records))
	for i, record := range records {
		places[record.ID], ids[i] = i, record.ID
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return s.query(t.bodies, []any{string(list)}, func(rows *sql.Rows) error {
		var id string
		var body []byte
		if err := rows.Scan(&id, &body); err != nil {
			return err
		}
		if body == nil {
			body = []byte{} // the driver makes no difference
		}
		records[places[id]].Body = body
		return storage.ChargeRead(ctx, len(body))
	})
}

// finder reads the entries of a query off an index. Each member of the query's set has a
// source of its own.
type finder struct {
	session *session
	table   *table
	scan    *storage.Scan
	chunk   int
	sources []*source
}

// source reads the entries with certain equalities, chunk by chunk.
type source struct {
	finder *finder
	equal  []any
	after  *storage.Position
	skip   int
	ended  bool
}

type entry struct {
	record   storage.Record
	size     int // of the body, in bytes
	position storage.Position
}

func newFinder(s *session, t *table, scan *storage.Scan, query storage.Query) *finder {
	f := &finder{session: s, table: t, scan: scan}
	for _, equal := range query.EqualLists() {
		f.sources = append(f.sources, &source{finder: f, equal: equal, after: scan.After})
	}
	if len(f.sources) == 1 && scan.After == nil {
		f.sources[0].skip = scan.Skip()
	}
	// The two of a source are the least with which it is not asked again for
	// every entry it gives.
	f.chunk = min(max(scan.Need()/max(len(f.sources), 1), 2), maxChunk)
	return f
}

func (f *finder) run(ctx context.Context) error {
	return storage.Merge(ctx, f.sources, f.before, func(e *entry) (bool, error) { return f.scan.Add(e.record, e.size), nil })
}

func (f *finder) before(a, b *entry) bool {
	order := storage.ComparePositions(a.position, b.position)
	if f.scan.Descending {
		return order > 0
	}
	return order < 0
}

// Read appends the next entries.
func (s *source) Read(ctx context.Context, entries []entry) ([]entry, error) {
	if s.ended {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f := s.finder
	for _, segment := range f.scan.Segments(s.after) {
		wanted := f.chunk - len(entries)
		if wanted == 0 {
			break
		}
		statement := f.table.selectSegment(f.scan, s.equal, segment)
		args := append(statement.args, wanted, s.skip)
		err := f.session.query(statement.text, args, func(rows *sql.Rows) error {
			one, err := f.scanEntry(rows)
			entries = append(entries, one)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	s.skip = 0
	s.ended = len(entries) < f.chunk
	if n := len(entries); n > 0 {
		last := entries[n-1].position
		s.after = &last
	}
	return entries, nil
}

// scanEntry reads an entry from a row of selectSegment.
func (f *finder) scanEntry(rows *sql.Rows) (entry, error) {
	e := entry{}
	var fields string
	err := rows.Scan(&e.record.ID, &e.record.Revision, &fields, &e.size)
	if err != nil {
		return entry{}, err
	}
	if e.record.Fields, err = storage.DecodeFields(fields); err != nil {
		return entry{}, fmt.Errorf("fields of %s: %w", e.record.ID, err)
	}
	e.position = f.scan.PositionOf(e.record)
	return e, nil
}
