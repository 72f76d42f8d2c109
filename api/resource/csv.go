package resource

import (
	"context"
	"io"

	"attestry/api/server"
	"attestry/evidence/csvtable"
)

// rowsFunc returns the page of rows after a cursor ("" for the first page) and the next cursor ("" after the last one).
type rowsFunc = func(ctx context.Context, after string) (page [][]string, next string, err error)

// StreamCSV answers with a CSV file.
func (b *Base) StreamCSV(ctx context.Context, filename string, columns []string, rows rowsFunc) (*server.StreamOutput, error) {
	return server.Stream(ctx, server.Download{
		ContentType: "text/csv; charset=utf-8", Filename: filename, Size: -1,
		Memory: server.StreamCost(b.BatchBytes),
		Open: func(ctx context.Context, _, _ int64) (io.ReadCloser, error) {
			table, err := csvtable.NewReader(columns, func(after string) ([][]string, string, error) {
				server.RequestOf(ctx).Memory.Rewind(0)
				return rows(ctx, after)
			})
			return io.NopCloser(table), err
		},
	})
}
