package sqlite

import (
	"container/heap"
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

// finder merges the entries of several sources, one for each member of a query's
// set, into the order of the index.
type finder struct {
	session *session
	table   *table
	scan    *storage.Scan
	chunk   int
	sources []*source
}

// source reads the entries with certain equalities, chunk by chunk.
type source struct {
	equal  []any
	after  *storage.Position
	skip   int
	buffer []entry
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
		f.sources = append(f.sources, &source{equal: equal, after: scan.After})
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
	filled := f.sources[:0]
	for _, source := range f.sources {
		if err := f.fill(ctx, source); err != nil {
			return err
		}
		if len(source.buffer) > 0 {
			filled = append(filled, source)
		}
	}
	f.sources = filled
	heap.Init(f)
	for len(f.sources) > 0 {
		first := f.sources[0]
		if !f.scan.Add(first.buffer[0].record, first.buffer[0].size) {
			return nil
		}
		first.buffer = first.buffer[1:]
		if len(first.buffer) == 0 {
			if err := f.fill(ctx, first); err != nil {
				return err
			}
		}
		if len(first.buffer) == 0 {
			heap.Pop(f)
			continue
		}
		heap.Fix(f, 0)
	}
	return nil
}

// fill reads a source's next entries. It leaves the buffer empty at the end.
func (f *finder) fill(ctx context.Context, source *source) error {
	if source.ended {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	source.buffer = source.buffer[:0]
	for _, segment := range f.scan.Segments(source.after) {
		wanted := f.chunk - len(source.buffer)
		if wanted == 0 {
			break
		}
		statement := f.table.selectSegment(f.scan, source.equal, segment)
		args := append(statement.args, wanted, source.skip)
		if err := f.session.query(statement.text, args, source.take(f.scan)); err != nil {
			return err
		}
	}
	source.skip = 0
	source.ended = len(source.buffer) < f.chunk
	if n := len(source.buffer); n > 0 {
		last := source.buffer[n-1].position
		source.after = &last
	}
	return nil
}

func (s *source) take(scan *storage.Scan) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		record := storage.Record{}
		var fields string
		var size int
		err := rows.Scan(&record.ID, &record.Revision, &fields, &size)
		if err != nil {
			return err
		}
		if record.Fields, err = storage.DecodeFields(fields); err != nil {
			return fmt.Errorf("fields of %s: %w", record.ID, err)
		}
		s.buffer = append(s.buffer, entry{record: record, size: size, position: scan.PositionOf(record)})
		return nil
	}
}

// Len, Less, Swap, Push and Pop make the sources a heap, the one with the next
// entry at its top.

func (f *finder) Len() int { return len(f.sources) }

func (f *finder) Less(i, j int) bool {
	order := storage.ComparePositions(f.sources[i].buffer[0].position, f.sources[j].buffer[0].position)
	if f.scan.Descending {
		return order > 0
	}
	return order < 0
}

func (f *finder) Swap(i, j int) { f.sources[i], f.sources[j] = f.sources[j], f.sources[i] }

func (f *finder) Push(x any) { f.sources = append(f.sources, x.(*source)) }

func (f *finder) Pop() any {
	last := f.sources[len(f.sources)-1]
	f.sources = f.sources[:len(f.sources)-1]
	return last
}
