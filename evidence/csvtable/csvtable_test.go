package csvtable

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
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

// TestReadWaitsForOnePageAtMost has pages without rows, as those of a search that finds nothing in them.
func TestReadWaitsForOnePageAtMost(t *testing.T) {
	for name, c := range map[string]struct {
		pages string // a digit for each page: its number of rows
		reads string // the text that each call reads, with commas for line breaks
	}{
		"no rows":                {"0", "number;"},
		"an empty page between":  {"101", "number,0;;2;"},
		"empty pages before":     {"001", "number;;2;"},
		"empty pages at the end": {"100", "number,0;;"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			reader, err := NewReader(testColumns[:1], func(string) (rows [][]string, next string, err error) {
				if c.pages[asked] == '1' {
					rows = [][]string{{fmt.Sprint(asked)}}
				}
				if asked++; asked < len(c.pages) {
					next = fmt.Sprint(asked)
				}
				return rows, next, nil
			})
			reads := ""
			for buffer := make([]byte, 100); err == nil; {
				before, n := asked, 0
				if n, err = reader.Read(buffer); asked > before+1 {
					t.Errorf("a call waits for %d pages", asked-before)
				}
				if err == nil {
					reads += strings.ReplaceAll(strings.TrimSpace(string(buffer[:n])), "\n", ",") + ";"
				}
			}
			if !errors.Is(err, io.EOF) || reads != c.reads {
				t.Errorf("the calls read %s, then %v", reads, err)
			}
		})
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
		"": "", "registry/app:1": "registry/app:1", "a=1": "a=1", "=1+1": "'=1+1", "+1": "'+1", "-": "'-", "@SUM(A1)": "'@SUM(A1)",
		"-1": "-1", "-499.99706": "-499.99706", "-1+1": "'-1+1", "-1\n": "'-1\n", "-inf": "'-inf", "-0x1p-2": "'-0x1p-2", "-.5": "'-.5",
		"\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1",
	} {
		if got := escapeFormula(cell); got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}
