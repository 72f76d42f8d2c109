package pdf

import (
	"embed"
	"encoding/binary"
	"math"
	"sync"
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

// fontNames are the family names under which fpdf knows the fonts.
var fontNames = [fonts]string{"regular", "bold", "monospaced", "fallback"}

// file returns a copy of the font, as fpdf writes into it when it makes a subset.
func (f font) file() fontFile {
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

// fontFile reads numbers from an embedded TrueType font, which is known to be valid.
type fontFile []byte

func (f fontFile) uint16(at int) int { return int(binary.BigEndian.Uint16(f[at:])) }
func (f fontFile) uint32(at int) int { return int(binary.BigEndian.Uint32(f[at:])) }

func (f fontFile) table(name string) int {
	for i := range f.uint16(4) {
		if entry := 12 + 16*i; string(f[entry:entry+4]) == name {
			return f.uint32(entry + 8)
		}
	}
	panic("pdf: font without table " + name)
}

// unicodeMap returns where the map of characters in format 4 begins, the one that fpdf reads too.
func (f fontFile) unicodeMap() int {
	cmap := f.table("cmap")
	for i := range f.uint16(cmap + 2) {
		entry := cmap + 4 + 8*i
		platform, encoding, at := f.uint16(entry), f.uint16(entry+2), cmap+f.uint32(entry+4)
		if (platform == 3 && encoding == 1 || platform == 0) && f.uint16(at) == 4 {
			return at
		}
	}
	panic("pdf: font without map of characters")
}

func readMetrics(m *metrics, f fontFile) {
	for i := range m {
		m[i] = noGlyph
	}
	at := f.unicodeMap()
	segments := f.uint16(at+6) / 2
	ends, starts := at+14, at+16+2*segments
	deltas, offsets := starts+2*segments, starts+4*segments
	for i := range segments {
		start, end := f.uint16(starts+2*i), f.uint16(ends+2*i)
		for char := start; char <= end && char < len(m)-1; char++ {
			index := char
			if offset := f.uint16(offsets + 2*i); offset != 0 {
				if index = f.uint16(offsets + 2*i + offset + 2*(char-start)); index == 0 {
					continue
				}
			}
			if index = (index + f.uint16(deltas+2*i)) & 0xFFFF; index != 0 {
				m[char] = f.width(index)
			}
		}
	}
}

// width returns the width of a glyph in thousandths of the font's size.
func (f fontFile) width(index int) uint16 {
	last := f.uint16(f.table("hhea")+34) - 1
	advance := f.uint16(f.table("hmtx") + 4*min(index, last))
	return uint16(math.Round(float64(advance) * 1000 / float64(f.uint16(f.table("head")+18))))
}

func usedFonts(sheets []*sheet) (used [fonts]bool) {
	for _, sheet := range sheets {
		for i := range sheet.texts {
			used[sheet.texts[i].font] = true
		}
	}
	return used
}
