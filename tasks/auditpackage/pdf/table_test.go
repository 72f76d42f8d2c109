package pdf

import (
	"fmt"
	"strings"
	"testing"
)

var twoColumns = []column{{"First", 50}, {"Second", bodyWidth - 50}}

// layTable places rows on new sheets.
func layTable(rows ...row) *layout {
	l := new(layout)
	l.newSheet()
	l.table(twoColumns, rows)
	return l
}

func textRow(first, second string) row {
	return row{cells: []cell{{{text: first, style: body}}, {{text: second, style: body}}}}
}

// pageTexts returns the texts of each page.
func pageTexts(l *layout) []string {
	var pages []string
	for _, sheet := range l.sheets {
		var texts []string
		for _, placed := range sheet.texts {
			texts = append(texts, placed.text)
		}
		pages = append(pages, strings.Join(texts, "|"))
	}
	return pages
}

func TestColumnTitlesAreRepeated(t *testing.T) {
	var rows []row
	for i := range 100 {
		rows = append(rows, textRow(fmt.Sprint("row ", i), "x"))
	}
	pages := pageTexts(layTable(rows...))
	if len(pages) < 2 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, page := range pages {
		if !strings.HasPrefix(page, "First|Second|row ") {
			t.Errorf("a page begins with %.40q", page)
		}
	}
}

func TestRowsAreNotSplit(t *testing.T) {
	tall := strings.TrimSuffix(strings.Repeat("line\n", 20), "\n") // two rows fit on a page
	pages := pageTexts(layTable(textRow("a", tall), textRow("b", tall), textRow("c", tall), textRow("d", tall)))
	if len(pages) != 2 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, page := range pages {
		if n := strings.Count(page, "line"); n != 40 {
			t.Errorf("%d lines on a page", n)
		}
	}
}

func TestRowsLongerThanAPageAreSplit(t *testing.T) {
	pages := pageTexts(layTable(textRow("before", "x"), textRow("long", strings.Repeat("line\n", 110)), textRow("after", "x")))
	all := strings.Join(pages, "|")
	if len(pages) != 3 || strings.Count(all, "line") != 110 || !strings.Contains(pages[0], "before|x|long|line") || !strings.Contains(pages[2], "after") {
		t.Errorf("%d pages, %d lines", len(pages), strings.Count(all, "line"))
	}
}

func TestGroupTitlesAreRepeated(t *testing.T) {
	rows := []row{textRow("x", strings.Repeat("line\n", 54)), groupRow(paragraph{text: "group", style: strong})}
	for i := range 90 {
		rows = append(rows, textRow(fmt.Sprint("row ", i), "x"))
	}
	rows = append(rows, groupRow(paragraph{text: "other", style: strong}), textRow("last", "x"))
	pages := pageTexts(layTable(rows...))
	if strings.Contains(pages[0], "group") {
		t.Error("a group ends a page")
	}
	for _, page := range pages[1:] {
		if !strings.HasPrefix(page, "First|Second|group|row ") {
			t.Errorf("a page begins with %.40q", page)
		}
	}
	if last := pages[len(pages)-1]; !strings.HasSuffix(last, "other|last|x") {
		t.Errorf("the last page ends with %q", last[max(0, len(last)-40):])
	}
}

func TestHeadingsStayWithTheirContent(t *testing.T) {
	l := new(layout)
	l.newSheet()
	for l.y < bottom-30 {
		l.note("text")
	}
	l.section("Heading")
	l.introduce("About it")
	l.table(twoColumns, []row{textRow("row", "a\nb\nc\nd\ne")})
	pages := pageTexts(l)
	if len(pages) != 2 || !strings.HasPrefix(pages[1], "1  Heading|About it|First|Second|row|") {
		t.Errorf("got %q", pages)
	}
	if len(l.bookmarks) != 1 || l.bookmarks[0].page != 2 {
		t.Errorf("got %+v", l.bookmarks)
	}
}

func TestParagraphsAreBounded(t *testing.T) {
	broken := lines([]paragraph{{text: strings.Repeat("\n", 10_000), style: body}}, 50)
	if last := broken[len(broken)-1]; len(broken) != maxLines+1 || last.runs[0].text != "[…]" {
		t.Errorf("%d lines, the last is %+v", len(broken), last)
	}
}
