// Package csvtable writes tables as CSV while they are read.
package csvtable

import (
	"bytes"
	"encoding/csv"
	"strings"
)

// Reader writes a table as it is read, and holds one page of it at a time.
type Reader struct {
	// rows makes the page after a cursor and returns the next cursor, "" at the end.
	rows  func(after string) (page [][]string, next string, err error)
	after string
	ended bool
	text  bytes.Buffer
}

// NewReader begins a table with its columns and first page, so that what goes wrong
// there is known before anything is sent.
func NewReader(columns []string, rows func(after string) ([][]string, string, error)) (*Reader, error) {
	r := &Reader{rows: rows}
	if err := csv.NewWriter(&r.text).WriteAll([][]string{columns}); err != nil {
		return nil, err
	}
	return r, r.nextPage()
}

// nextPage writes the next page.
func (r *Reader) nextPage() error {
	page, next, err := r.rows(r.after)
	if err != nil {
		return err
	}
	r.after, r.ended = next, next == ""
	for _, row := range page {
		for i, cell := range row {
			row[i] = escapeFormula(cell)
		}
	}
	return csv.NewWriter(&r.text).WriteAll(page)
}

// Read reads on, and makes a page if none is at hand. It reads nothing if no row of that page passes the filter, as each
// read has a time limit.
func (r *Reader) Read(p []byte) (int, error) {
	if r.text.Len() == 0 && !r.ended {
		if err := r.nextPage(); err != nil || r.text.Len() == 0 && !r.ended {
			return 0, err
		}
	}
	return r.text.Read(p)
}

// escapeFormula keeps spreadsheets from running a cell of a CSV file as a formula: reporters choose the names, and auditors
// open the file. Spreadsheets do not show the quote before it.
func escapeFormula(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
