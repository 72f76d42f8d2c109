package csvtable

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"
)

var testColumns = []string{"number", "text"}

// pagedRows serves pages of a thousand rows each, and counts them.
type pagedRows struct {
	pages, served int
	failAt        int
}

func (p *pagedRows) next(after string) ([][]string, string, error) {
	if want := fmt.Sprint(p.served); after != want && p.served > 0 {
		return nil, "", fmt.Errorf("asked for page %q, not %s", after, want)
	}
	p.served++
	if p.served == p.failAt {
		return nil, "", errors.New("disk on fire")
	}
	var rows [][]string
	for i := range 1000 {
		row := slices.Repeat([]string{"a, \"b\"\n"}, len(testColumns))
		row[0] = fmt.Sprint(p.served*1000 + i)
		rows = append(rows, row)
	}
	if p.served == p.pages {
		return rows, "", nil
	}
	return rows, fmt.Sprint(p.served), nil
}

func TestTablesBufferOnePageAtATime(t *testing.T) {
	pages := &pagedRows{pages: 100}
	reader, err := NewReader(testColumns, pages.next)
	if err != nil || pages.served != 1 {
		t.Fatalf("%d pages, %v before it is read", pages.served, err)
	}
	rows := csv.NewReader(reader)
	header, err := rows.Read()
	if err != nil || !slices.Equal(header, testColumns) {
		t.Fatalf("header %v, %v", header, err)
	}
	page, read := reader.text.Cap(), 0
	for ; ; read++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || row[0] != fmt.Sprint(1000+read) || row[1] != "a, \"b\"\n" {
			t.Fatalf("row %d: %v, %v", read, row, err)
		}
		if ahead := pages.served - read/1000; ahead > 2 {
			t.Fatalf("%d pages made ahead of row %d", ahead, read)
		}
		if buffered := reader.text.Cap(); buffered > 4*page {
			t.Fatalf("%d bytes held at row %d, %d for a page", buffered, read, page)
		}
	}
	if read != 100_000 || pages.served != 100 {
		t.Errorf("%d rows of %d pages", read, pages.served)
	}
}

func TestReadingATableFailsIfAPageFails(t *testing.T) {
	if _, err := NewReader(testColumns, (&pagedRows{pages: 3, failAt: 1}).next); err == nil {
		t.Error("it began without its first page")
	}
	reader, err := NewReader(testColumns, (&pagedRows{pages: 3, failAt: 2}).next)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(iotest.OneByteReader(reader)); err == nil {
		t.Error("it ended well without its second page")
	}
}

func TestFormulasAreEscaped(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "registry/app:1": "registry/app:1", "a=1": "a=1", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)",
		"\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1",
	} {
		if got := escapeFormula(cell); got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}
