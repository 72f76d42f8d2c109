package resource

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"

	"attestry/api/server"
	"attestry/evidence"
)

// rowsAfter makes the page of rows after a cursor, "" for the first one, and returns the next cursor, "" at the end.
type rowsAfter = func(ctx context.Context, after string) (page [][]string, next string, err error)

// StreamCSV answers with a table in CSV as a file.
func (b *Base) StreamCSV(ctx context.Context, filename string, columns []string, rows rowsAfter) (*server.StreamOutput, error) {
	return server.Stream(ctx, server.Download{
		ContentType: "text/csv; charset=utf-8", Filename: filename, Size: -1,
		Memory: server.StreamCost(b.BatchBytes),
		Open: func(ctx context.Context, _, _ int64) (io.ReadCloser, error) {
			return newCSVReader(columns, func(after string) ([][]string, string, error) {
				server.RequestOf(ctx).Memory.Rewind(0)
				return rows(ctx, after)
			})
		},
	})
}

// csvReader writes a table as it is read, and holds one page of it at a time.
type csvReader struct {
	// rows makes the page after a cursor and returns the next cursor, "" at the end.
	rows  func(after string) (page [][]string, next string, err error)
	after string
	ended bool
	text  bytes.Buffer
}

// newCSVReader begins a table with its columns and first page, so that what goes wrong
// there is known before anything is sent.
func newCSVReader(columns []string, rows func(after string) ([][]string, string, error)) (*csvReader, error) {
	r := &csvReader{rows: rows}
	if err := csv.NewWriter(&r.text).WriteAll([][]string{columns}); err != nil {
		return nil, err
	}
	return r, r.nextPage()
}

// nextPage writes the next page.
func (r *csvReader) nextPage() error {
	page, next, err := r.rows(r.after)
	if err != nil {
		return err
	}
	r.after, r.ended = next, next == ""
	for _, row := range page {
		for i, cell := range row {
			row[i] = evidence.EscapeFormula(cell)
		}
	}
	return csv.NewWriter(&r.text).WriteAll(page)
}

// Read reads on, and makes a page if none is at hand. It reads nothing if no row of that page passes the filter, as each
// read has a time limit.
func (r *csvReader) Read(p []byte) (int, error) {
	if r.text.Len() == 0 && !r.ended {
		if err := r.nextPage(); err != nil || r.text.Len() == 0 && !r.ended {
			return 0, err
		}
	}
	return r.text.Read(p)
}

// Close has nothing to release.
func (*csvReader) Close() error { return nil }
