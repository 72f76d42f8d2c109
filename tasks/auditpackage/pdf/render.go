package pdf

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"codeberg.org/go-pdf/fpdf"
)

// Render makes the report of a document, as PDF.
func Render(d *Document) ([]byte, error) {
	report := newReport(d)
	report.write()
	report.finish()
	return draw(d, &report.layout)
}

// draw writes sheets as PDF. Everything that depends on time or on the order of maps is set.
func draw(d *Document, l *layout) ([]byte, error) {
	out := fpdf.New("P", "mm", "A4", "")
	asOf, _ := timeOf(d.AsOf)
	out.SetCatalogSort(true)
	// Packages are compressed as a whole, and fpdf would make a compressor of 1 MB for each page.
	out.SetCompression(false)
	out.SetCreationDate(asOf)
	out.SetModificationDate(asOf)
	out.SetProducer("fpdf", false)
	out.SetCreator(plain(d.Generator), true)
	out.SetTitle(plain("Audit report of trail "+d.Trail.Name+" of flow "+d.Trail.Flow.Name), true)
	out.SetAuthor(plain(d.Trail.Organization), true)
	// Verifiers of packages look for the checksum here, where it is in one piece.
	out.SetKeywords("SHA256SUMS "+plain(d.Checksum), false)
	out.SetLang("en")
	out.SetAutoPageBreak(false, 0)
	for f, used := range usedFonts(l.sheets) {
		if used {
			out.AddUTF8FontFromBytes(fontNames[f], "", font(f).file())
		}
	}
	bookmarks := l.bookmarks
	for i, sheet := range l.sheets {
		out.AddPage()
		for len(bookmarks) > 0 && bookmarks[0].page == i+1 {
			out.Bookmark(plain(bookmarks[0].title), 0, bookmarks[0].y)
			bookmarks = bookmarks[1:]
		}
		drawSheet(out, sheet)
	}
	var file bytes.Buffer
	if err := out.Output(&file); err != nil {
		return nil, fmt.Errorf("write the PDF report: %w", err)
	}
	return file.Bytes(), nil
}

func drawSheet(out *fpdf.Fpdf, s *sheet) {
	for _, one := range s.boxes {
		out.SetFillColor(int(one.color.red), int(one.color.green), int(one.color.blue))
		out.Rect(one.x, one.y, one.width, one.height, "F")
	}
	last := style{}
	for _, one := range s.texts {
		if current := (style{one.font, one.size, one.color}); current != last {
			out.SetFont(fontNames[one.font], "", one.size)
			out.SetTextColor(int(one.color.red), int(one.color.green), int(one.color.blue))
			last = current
		}
		out.Text(one.x, one.y, one.text)
	}
}

// plain is a text for properties and bookmarks, where fpdf writes no surrogates.
func plain(text string) string {
	return strings.Map(func(char rune) rune {
		if char > 0xFFFF || unicode.IsControl(char) {
			return unicode.ReplacementChar
		}
		return char
	}, shorten(text, maxName))
}

// finish adds the head and the foot of each page.
func (r *report) finish() {
	const head, foot = 13.0, pageHeight - 13
	of := " of " + decimal(len(r.sheets))
	checksum := "SHA256SUMS " + shorten(r.Checksum, 16)
	for i, sheet := range r.sheets {
		if i > 0 {
			sheet.printLine(left, head, bodyWidth-30, r.Trail.Organization+" / "+r.Trail.Flow.Name+" / "+r.Trail.Name, margin)
			sheet.printRight(right, head, "Audit report", margin)
			sheet.boxes = append(sheet.boxes, box{left, head + 5, bodyWidth, ruleWidth, rule})
		}
		sheet.boxes = append(sheet.boxes, box{left, foot - 1.5, bodyWidth, ruleWidth, rule})
		sheet.printLine(left, foot, bodyWidth-30, checksum+"  ·  "+r.Generator, margin)
		sheet.printRight(right, foot, "Page "+decimal(i+1)+of, margin)
	}
}
