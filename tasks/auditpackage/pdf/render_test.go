package pdf

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/control"
	"attestry/evidence/evidencetest"
)

// layOut lays out a document without writing it.
func layOut(d *Document) *report {
	r := newReport(d)
	r.write()
	about := r.frame()
	r.finish(&about)
	return r
}

// textOf returns the text of all pages of a report, line by line.
func textOf(r *report) string {
	var text strings.Builder
	y := 0.0
	for _, sheet := range r.sheets {
		for _, placed := range sheet.texts {
			if placed.y != y {
				text.WriteByte('\n')
			}
			y = placed.y
			text.WriteString(placed.text)
		}
	}
	return text.String()
}

// TestReportsAreRendered writes the reports into the folder ATTESTRY_TEST_PDF, if that is set, for inspection.
func TestReportsAreRendered(t *testing.T) {
	folder := os.Getenv("ATTESTRY_TEST_PDF")
	for name, document := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // renderings share the fonts
			file, err := Render(document())
			evidencetest.Must(t, err)
			if !bytes.HasPrefix(file, []byte("%PDF-")) || !bytes.Contains(file, []byte("%%EOF")) {
				t.Errorf("%d bytes are no PDF", len(file))
			}
			if folder == "" {
				return
			}
			evidencetest.Must(t, os.WriteFile(filepath.Join(folder, strings.ReplaceAll(name, " ", "-")+".pdf"), file, 0o600))
		})
	}
}

// TestRenderingIsDeterministic renders in two orders, so that a rendering that changes the next one fails the test.
func TestRenderingIsDeterministic(t *testing.T) {
	names := slices.Sorted(maps.Keys(documents))
	before := map[string][]byte{}
	for round := range 2 {
		for _, name := range names {
			file, err := Render(documents[name]())
			evidencetest.Must(t, err)
			if round == 0 {
				before[name] = file
			} else if !bytes.Equal(file, before[name]) {
				t.Errorf("%s is rendered with other bytes", name)
			}
		}
		slices.Reverse(names)
	}
}

func TestNothingExceedsThePage(t *testing.T) {
	const tolerance = 0.01
	for name, document := range documents {
		t.Run(name, func(t *testing.T) {
			r := layOut(document())
			if len(r.sheets) < 3 {
				t.Errorf("%d pages", len(r.sheets))
			}
			for page, sheet := range r.sheets {
				for _, placed := range sheet.texts {
					if placed.x < left-tolerance || placed.x+placed.width > right+tolerance {
						t.Errorf("page %d: %q reaches from %.1f to %.1f", page+1, placed.text, placed.x, placed.x+placed.width)
					}
					inHead, inFoot := placed.y < top-2, placed.y > bottom
					if isMargin := placed.size == margin.size && placed.color == margin.color; !isMargin && (inHead || inFoot) || placed.y > pageHeight-8 {
						t.Errorf("page %d: %q is at %.1f", page+1, placed.text, placed.y)
					}
				}
				checkOverlap(t, page+1, sheet)
			}
		})
	}
}

// checkOverlap fails if texts on one baseline overlap, like those of neighbouring cells that are too wide.
func checkOverlap(t *testing.T, page int, s *sheet) {
	byHeight := map[float64][]placedText{}
	for _, placed := range s.texts {
		byHeight[placed.y] = append(byHeight[placed.y], placed)
	}
	for _, texts := range byHeight {
		slices.SortFunc(texts, func(a, b placedText) int { return int((a.x - b.x) * 1000) })
		for i := 1; i < len(texts); i++ {
			if before := texts[i-1]; before.x+before.width > texts[i].x+0.01 {
				t.Errorf("page %d: %q overlaps %q", page, before.text, texts[i].text)
			}
		}
	}
}

func TestColumnsFillThePage(t *testing.T) {
	for _, columns := range [][]column{
		factColumns, expectedColumns, artifactColumns, attestationColumns, overrideColumns, decisionColumns,
		approvalColumns, commitColumns, pullRequestColumns, runningColumns, eventColumns, lostColumns,
	} {
		width := 0.0
		for _, c := range columns {
			width += c.width
		}
		if width != bodyWidth {
			t.Errorf("%v are %v wide", columns, width)
		}
	}
}

func TestReportHasTheExpectedTexts(t *testing.T) {
	for name, wanted := range map[string][]string{
		"compliant": {"COMPLIANT", "Commits that artifacts were built from", "All that the template requires was reported", "242 tests passed, 3 skipped",
			"grace (APPROVED)", digest(1), digest(1002), "SHA256SUMS cdab8c75b9187834…", "No verdict was overridden.", "Control SDLC-07: Releases",
			"percent: 87.5", "files: list of 2 items", "sha256sum -c SHA256SUMS", "Page 1 of "},
		"overridden":    {"1 verdict that counts is an override", "overridden", "does not count now", "The scanner reports a copy of zlib", "Release 7: payments-api", "For environment production-eu"},
		"lost evidence": {"This package is not complete: 1 file of evidence is no longer", "Lost evidence", "altered", "The package does not have this file"},
		"non-compliant": {"NON-COMPLIANT", "1 attestation is not compliant: 'integration-tests' of artifact 'payments-api'. 1 required", "MISSING", "no: unexpected", "any type",
			"Not fulfilled: In trail", "Remedy: Record the missing", "UNKNOWN", "On the allow list of the environment by grace", "Needed for the load test"},
		"empty":         {"The template requires nothing", "No attestation was recorded.", "No artifact was reported.", "No event was recorded.", "The commit of the trail is not known."},
		"100 artifacts": {"INCOMPLETE", "14 artifacts were not reported: 'service-3', 'service-10',", "and 9 more"},
		"unicode":       {"发布", "リリース 릴리스", "Платежи", `\u{1F600}`, `\u{202E}`, `\u{0}`, "\uFFFD\uFFFD", "םלוע םולש"},
	} {
		text := strings.ReplaceAll(textOf(layOut(documents[name]())), "\n", " ")
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}

// TestReportsAreBounded checks that a report says how many attestations and events it leaves out.
func TestReportsAreBounded(t *testing.T) {
	d := manyAttestations(MaxAttestations - 6)
	d.Recorded, d.NotCompliant = 2_063, 41
	text := textOf(layOut(d))
	evidencetest.Contains(t, text,
		"This report leaves out 63 attestations. ", "This report leaves out 2 events. ",
		"2063 recorded", "41 recorded as not compliant")
}

func TestArtifactsThatWereReportedTwiceAreListedOnceForTheirCommit(t *testing.T) {
	d := documents["compliant"]()
	d.Artifacts = append(d.Artifacts, d.Artifacts[0])
	name := d.Artifacts[0].Name
	if text := textOf(layOut(d)); !strings.Contains(text, name) || strings.Contains(text, name+", "+name) {
		t.Error("the commit lists the artifact twice")
	}
}

func TestOmittedControlsAreCountedWithTheirDecisions(t *testing.T) {
	d := documents["empty"]()
	for i := range maxOthers + 2 {
		identifier := fmt.Sprint("C-", i)
		d.Controls = append(d.Controls, audit.ControlDocument{Control: control.Control{Identifier: identifier, Version: 1}})
		d.Attestations = append(d.Attestations, Attestation{Attestation: evidence.Attestation{ID: identifier, Name: "go", Type: "system:decision", Control: identifier}})
	}
	evidencetest.Contains(t, textOf(layOut(d)), "This report leaves out 4 rows. ")
}
