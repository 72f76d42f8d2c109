package pdf

import (
	"embed"
	"math"
	"sync"

	hinting "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

//go:embed fonts/*.ttf
var fontFiles embed.FS

type font int8

const (
	regular font = iota
	bold
	monospaced
	// fallback has Chinese, Japanese and Korean characters.
	fallback
	fonts // how many there are
)

// fontNames are the family names of the fonts in fpdf.
var fontNames = [fonts]string{"regular", "bold", "monospaced", "fallback"}

// file returns a copy of the font, as fpdf writes into it when it makes a subset.
func (f font) file() []byte {
	name := [fonts]string{"DejaVuSansCondensed", "DejaVuSansCondensed-Bold", "DejaVuSansMono", "DroidSansFallback"}[f]
	content, _ := fontFiles.ReadFile("fonts/" + name + ".ttf") // it is embedded, so there is no error
	return content
}

// metrics has the widths of a font's characters in thousandths of its size, or noGlyph.
type metrics [1 << 16]uint16

const noGlyph = math.MaxUint16

// allMetrics reads the metrics of all fonts once.
var allMetrics = sync.OnceValue(func() *[fonts]metrics {
	all := new([fonts]metrics)
	for f := range fonts {
		readMetrics(&all[f], f.file())
	}
	return all
})

// glyphOf finds the font for a character in text set in f. fpdf cannot write beyond U+FFFF.
func (f font) glyphOf(char rune) (glyph, bool) {
	if char < 0 || char > math.MaxUint16 {
		return glyph{}, false
	}
	for _, other := range []font{f, regular, fallback} {
		if width := allMetrics()[other][char]; width != noGlyph {
			return glyph{char: char, font: other, width: int(width)}, true
		}
	}
	return glyph{}, false
}

// readMetrics reads them from an embedded font, which is known to be valid.
func readMetrics(m *metrics, content []byte) {
	parsed, err := sfnt.Parse(content)
	if err != nil {
		panic(err)
	}
	var buffer sfnt.Buffer
	units := int(parsed.UnitsPerEm()) // so that advances are not rounded
	for char := range m {
		m[char] = noGlyph
		index, err := parsed.GlyphIndex(&buffer, rune(char))
		if err != nil || index == 0 {
			continue
		}
		if advance, err := parsed.GlyphAdvance(&buffer, index, fixed.I(units), hinting.HintingNone); err == nil {
			m[char] = uint16(math.Round(float64(advance.Round()) * 1000 / float64(units)))
		}
	}
}

func usedFonts(sheets []*sheet) (used [fonts]bool) {
	for _, sheet := range sheets {
		for i := range sheet.texts {
			used[sheet.texts[i].font] = true
		}
	}
	return used
}
