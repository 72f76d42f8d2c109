// Package csvtable writes tables as CSV while they are read.
package csvtable

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"strings"
)

// Reader encodes a table while it is read. It has one page in memory.
type Reader struct {
	// rows returns the page after a cursor and the next cursor, "" at the end.
	rows  func(after string) (page [][]string, next string, err error)
	after string
	ended bool
	text  bytes.Buffer
}

// NewReader begins a table with its columns and first page, so that an error there is returned before anything is sent.
func NewReader(columns []string, rows func(after string) ([][]string, string, error)) (*Reader, error) {
	r := &Reader{rows: rows}
	if err := csv.NewWriter(&r.text).WriteAll([][]string{columns}); err != nil {
		return nil, err
	}
	return r, r.nextPage()
}

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

// Read reads from the current page, or from the next one at its end. If that page has no rows it returns 0 bytes, as
// each read has a time limit.
func (r *Reader) Read(p []byte) (int, error) {
	if r.text.Len() == 0 && !r.ended {
		if err := r.nextPage(); err != nil || r.text.Len() == 0 && !r.ended {
			return 0, err
		}
	}
	return r.text.Read(p)
}

var negativeNumber = regexp.MustCompile(`^-[0-9]+(\.[0-9]+)?$`)

// escapeFormula keeps spreadsheets from running a cell as a formula: reporters choose the names, and auditors open the
// file. Spreadsheets do not show the leading quote, but treat what follows it as text.
func escapeFormula(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) && !negativeNumber.MatchString(cell) {
		return "'" + cell
	}
	return cell
}
