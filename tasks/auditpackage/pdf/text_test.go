package pdf

import (
	"strings"
	"testing"

	"codeberg.org/go-pdf/fpdf"
)

func textOfLine(line []glyph) string {
	var text strings.Builder
	for _, g := range line {
		text.WriteRune(g.char)
	}
	return text.String()
}

func wrapped(text string, most int) string {
	var lines []string
	for _, line := range wrap(regular.glyphs(text), most) {
		lines = append(lines, textOfLine(line))
	}
	return strings.Join(lines, "|")
}

func TestTextIsBrokenIntoLines(t *testing.T) {
	em := widthOf(regular.glyphs("mmmmm"))
	for text, want := range map[string]string{
		"":                  "",
		"mm mm":             "mm mm",
		"mmm mmm":           "mmm|mmm",
		"mm    mmmm":        "mm|mmmm",
		"mmmmmmmmmmmm":      "mmmmm|mmmmm|mm",
		"m mmmmmmm":         "m|mmmmm|mm",
		"mm-mmm/mm":         "mm-|mmm/|mm",
		"a\nb\r\n\r\nc\n":   "a|b||c|",
		"mmmme\u0301m":      "mmmme\u0301|m",
		"mmmmm\u0301\u0302": "mmmmm\u0301\u0302",
		"中文中文中文中文":          "中文中文|中文中文",
		"中文中文。文":            "中文中|文。文",
	} {
		if got := wrapped(text, em); got != want {
			t.Errorf("%q is broken into %q, want %q", text, got, want)
		}
	}
}

// TestNoLineIsTooWide breaks texts at many widths.
func TestNoLineIsTooWide(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("W", 300), "https://example.com/a-b/c?d=e&f=g#h " + digest(1), "שלום עולם 12.5 (abc)", "😀😀 中文 текст\u0301\u0302 العربية",
		strings.Repeat("ab ", 50), "   x   ", "\u0301\u0301\u0301abc",
	} {
		for _, f := range []font{regular, bold, monospaced} {
			glyphs := f.glyphs(text)
			for most := 1100; most < 20_000; most += 313 {
				total := 0
				for _, line := range wrap(glyphs, most) {
					total += len(line)
					if width := widthOf(line); width > most {
						t.Fatalf("a line of %q is %d wide, more than %d", text, width, most)
					}
				}
				if blanks := strings.Count(text, " "); total < len(glyphs)-blanks {
					t.Fatalf("%q has lost glyphs at width %d", text, most)
				}
			}
		}
	}
}

func TestCharactersWithoutAGlyphAreShownAsCodePoints(t *testing.T) {
	for text, want := range map[string]string{
		"a\x00b":           `a\u{0}b`,
		"\u202e!":          `\u{202E}!`,
		"😀":                `\u{1F600}`,
		"\xff":             "\uFFFD",
		"a\tb":             "a b",
		"\u200d\r":         `\u{200D}\u{D}`,
		"\ue000\ufdd0":     `\u{E000}\u{FDD0}`,
		"☃\ufe0f":          `☃\u{FE0F}`,
		"Ünïcödé Я 中文 あ 한": "Ünïcödé Я 中文 あ 한",
	} {
		if got := textOfLine(regular.glyphs(text)); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestRunsChangeWithTheFont(t *testing.T) {
	got := runs(bold.glyphs("a中文b"))
	want := []struct {
		text string
		font font
	}{{"a", bold}, {"中文", fallback}, {"b", bold}}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i].text != want[i].text || got[i].font != want[i].font {
			t.Errorf("got %+v", got[i])
		}
	}
}

// TestRightToLeftTextIsReordered compares lines with their glyphs in the order from left to right.
func TestRightToLeftTextIsReordered(t *testing.T) {
	for text, want := range map[string]string{
		"abc 12":             "abc 12",
		"אבג":                "גבא",
		"abc אבג def":        "abc גבא def",
		"אב גד":              "דג בא",
		"אב abc גד":          "בא abc דג",
		"אב 12 גד":           "דג 12 בא",
		"אב-42":              "42-בא",
		"אב 12.5":            "12.5 בא",
		"(אב 2.1) x":         "(2.1 בא) x",
		"אב (גד 2.1) x":      "(2.1 דג) בא x",
		"אב [גד]":            "[דג] בא",
		"אב (abc)":           "בא (abc)",
		"of 'אב'. 1 verdict": "of 'בא'. 1 verdict",
		"by אב, 2026-01-02":  "by בא, 2026-01-02",
		"ש\u05c1א":           "אש\u05c1",
		"١٢ א":               "א ١٢",
	} {
		if got := textOfLine(reorder(regular.glyphs(text))); got != want {
			t.Errorf("%q is reordered to %q, want %q", text, got, want)
		}
	}
}

func TestArabicLettersAreJoined(t *testing.T) {
	for text, want := range map[string]string{
		"abc":      "abc",
		"ب":        "\ufe8f",
		"بب":       "\ufe91\ufe90",
		"ببب":      "\ufe91\ufe92\ufe90",
		"دب":       "\ufea9\ufe8f",
		"بدب":      "\ufe91\ufeaa\ufe8f",
		"ي ي":      "\ufef1 \ufef1",
		"ب\u064eب": "\ufe91\u064e\ufe90",
		"ءب":       "\ufe80\ufe8f",
	} {
		if got := string(joinArabic([]rune(text))); got != want {
			t.Errorf("%q becomes %+q, want %+q", text, got, want)
		}
	}
}

func TestTextIsCutToAWidth(t *testing.T) {
	glyphs := regular.glyphs(strings.Repeat("long\nname ", 20))
	got := cutTo(glyphs, 5000, regular)
	if widthOf(got) > 5000 || !strings.HasSuffix(textOfLine(got), "…") || strings.Contains(textOfLine(got), "\n") {
		t.Errorf("got %q", textOfLine(got))
	}
	if got := textOfLine(cutTo(regular.glyphs("short"), 5000, regular)); got != "short" {
		t.Errorf("got %q", got)
	}
}

// TestWidthsAreThoseOfFPDF compares the metrics with those that fpdf reads from the same files.
func TestWidthsAreThoseOfFPDF(t *testing.T) {
	out := fpdf.New("P", "mm", "A4", "")
	for f := range fonts {
		out.AddUTF8FontFromBytes(fontNames[f], "", f.file())
		out.SetFont(fontNames[f], "", 10)
		known := 0
		for char, width := range allMetrics()[f] {
			if width == noGlyph || char < ' ' {
				continue
			}
			known++
			if width > 8000 {
				t.Errorf("%s: U+%04X is wider than cells", fontNames[f], char)
			}
			if want := out.GetStringSymbolWidth(string(rune(char))); int(width) != want {
				t.Errorf("%s: U+%04X is %d wide, fpdf says %d", fontNames[f], char, width, want)
			}
		}
		if known < 2000 {
			t.Errorf("%s has %d characters", fontNames[f], known)
		}
	}
	if out.Err() {
		t.Error(out.Error())
	}
}

// FuzzLines breaks any text into lines, which must fit and may only lose blanks.
func FuzzLines(f *testing.F) {
	f.Add("abc אבג (12) العربية 中文", 5)
	f.Add("\u0301\n-/ \xff\U0001F600", 0)
	f.Fuzz(func(t *testing.T, text string, width int) {
		glyphs := regular.glyphs(text)
		most := 8000 + width&0xFFFF // all cells are at least that wide, and all glyphs narrower
		shown := 0
		for _, line := range wrap(glyphs, most) {
			if widthOf(line) > most {
				t.Fatalf("a line is %d wide, more than %d", widthOf(line), most)
			}
			placed := runs(line)
			total := 0
			for _, run := range placed {
				total += run.width
				shown += len([]rune(run.text))
			}
			if total != widthOf(line) {
				t.Fatalf("runs are %d wide instead of %d", total, widthOf(line))
			}
		}
		for _, g := range glyphs {
			if g.char == ' ' || g.char == '\n' {
				shown++
			}
		}
		if shown < len(glyphs) {
			t.Fatalf("%d of %d glyphs are shown", shown, len(glyphs))
		}
	})
}
