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
	about := report.frame()
	report.finish(&about)
	return draw(&about, &report.layout)
}

// frame has the properties of a report, and the text of the header and footer of its pages.
type frame struct {
	title, author, generator, keywords string
	// asOf is in Unix seconds.
	asOf       float64
	head, foot string
}

func (r *report) frame() frame {
	return frame{
		title: "Audit report of trail " + r.Trail.Name + " of flow " + r.Trail.Flow.Name, author: r.Trail.Organization, generator: r.Generator,
		keywords: "SHA256SUMS " + plain(r.Checksum), asOf: r.AsOf,
		head: r.Trail.Organization + " / " + r.Trail.Flow.Name + " / " + r.Trail.Name, foot: "SHA256SUMS " + shorten(r.Checksum, 16) + "  ·  " + r.Generator,
	}
}

// draw writes sheets as PDF. Everything that depends on time or on the order of maps is set.
func draw(about *frame, l *layout) ([]byte, error) {
	out := fpdf.New("P", "mm", "A4", "")
	asOf, _ := timeOf(about.asOf)
	out.SetCatalogSort(true)
	// Packages are compressed as a whole, and fpdf would make a compressor of 1 MB for each page.
	out.SetCompression(false)
	out.SetCreationDate(asOf)
	out.SetModificationDate(asOf)
	out.SetProducer("fpdf", false)
	out.SetCreator(plain(about.generator), true)
	out.SetTitle(plain(about.title), true)
	out.SetAuthor(plain(about.author), true)
	// Verifiers of packages look for the checksum here, where it is in one piece.
	out.SetKeywords(about.keywords, false)
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

// plain returns a text for properties and bookmarks, where fpdf cannot write surrogates.
func plain(text string) string {
	return strings.Map(func(char rune) rune {
		if char > 0xFFFF || unicode.IsControl(char) {
			return unicode.ReplacementChar
		}
		return char
	}, shorten(text, maxName))
}

// finish adds the header and footer of each page.
func (l *layout) finish(about *frame) {
	const head, foot = 13.0, pageHeight - 13
	of := " of " + decimal(len(l.sheets))
	for i, sheet := range l.sheets {
		if i > 0 {
			sheet.printLine(left, head, bodyWidth-30, about.head, margin)
			sheet.printRight(right, head, "Audit report", margin)
			sheet.boxes = append(sheet.boxes, box{left, head + 5, bodyWidth, ruleWidth, rule})
		}
		sheet.boxes = append(sheet.boxes, box{left, foot - 1.5, bodyWidth, ruleWidth, rule})
		sheet.printLine(left, foot, bodyWidth-30, about.foot, margin)
		sheet.printRight(right, foot, "Page "+decimal(i+1)+of, margin)
	}
}
