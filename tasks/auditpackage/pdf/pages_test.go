package pdf

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"attestry/evidence/evidencetest"
)

// recordedPages has the checksums of the pages and the properties of the reports of the fixtures.
const recordedPages = "testdata/pages.txt"

// pagesOf returns what fpdf draws on each page of a PDF.
func pagesOf(file []byte) (pages [][]byte) {
	for {
		_, after, found := bytes.Cut(file, []byte("\nstream\n"))
		if !found {
			return pages
		}
		var content []byte
		content, file, _ = bytes.Cut(after, []byte("\nendstream"))
		// The others are fonts.
		if bytes.Contains(content, []byte(" Td ")) {
			pages = append(pages, content)
		}
	}
}

// property matches a line of the properties of a PDF, and of its list of contents.
var property = regexp.MustCompile(`(?m)^(<<)?/(Title|Author|Keywords|Creator|CreationDate|ModDate|Lang|Dest|Parent|Prev|Next|First|Last)\b.*$`)

// TestPagesLookAsRecorded finds each change of the layout. Look at the pages that differ, see TestReportsAreRendered,
// and record them with ATTESTRY_TEST_UPDATE=1.
func TestPagesLookAsRecorded(t *testing.T) {
	var now strings.Builder
	record := func(name string, file []byte, err error) {
		evidencetest.Must(t, err)
		for i, page := range pagesOf(file) {
			fmt.Fprintf(&now, "%.12x page %d of %s\n", sha256.Sum256(page), i+1, name)
		}
		fmt.Fprintf(&now, "%.12x properties of %s\n", sha256.Sum256(bytes.Join(property.FindAll(file, -1), []byte("\n"))), name)
	}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		file, err := Render(documents[name]())
		record(name, file, err)
	}
	for _, name := range slices.Sorted(maps.Keys(periods)) {
		file, err := RenderPeriod(periods[name]())
		record(name, file, err)
	}
	if os.Getenv("ATTESTRY_TEST_UPDATE") != "" {
		evidencetest.Must(t, os.WriteFile(recordedPages, []byte(now.String()), 0o600))
	}
	before, err := os.ReadFile(recordedPages)
	evidencetest.Must(t, err)
	recorded := strings.Split(string(before), "\n")
	for line := range strings.Lines(now.String()) {
		if !slices.Contains(recorded, strings.TrimSuffix(line, "\n")) {
			t.Errorf("is drawn differently: %s", line)
		}
	}
	if len(recorded) != strings.Count(now.String(), "\n")+1 {
		t.Errorf("%d pages and properties, %d are recorded", strings.Count(now.String(), "\n"), len(recorded)-1)
	}
}
