package process

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"attestry/scripts/readmetest"
)

const semantics = "../docs/semantics.md"

var (
	// section matches a heading of docs/semantics.md.
	section = regexp.MustCompile(`(?m)^#{2,3} (\d+(?:\.\d+)?)\.? `)
	// citation matches the file with the section numbers that follow, as in "6.2, 6.3 and 7.2".
	citation = regexp.MustCompile(`docs/semantics\.md((?:(?:,? and |, | )\d+(?:\.\d+)?)*)`)
	number   = regexp.MustCompile(`\d+(?:\.\d+)?`)
	// foreign matches citations of files that the repository does not have.
	foreign = regexp.MustCompile(`contract/|\b(?:README\.md )?choice \d+|\bdesign: "|(?:^|[^/\w-])(?:semantics|requests|responses|clients|messages|legacy|live-shapes)\.md`)
)

// sectionsOfSemantics returns the numbers of the headings.
func sectionsOfSemantics(t *testing.T) map[string]bool {
	t.Helper()
	sections := map[string]bool{}
	for _, match := range section.FindAllStringSubmatch(readmetest.Read(t, semantics), -1) {
		if sections[match[1]] {
			t.Errorf("%s has section %s twice", semantics, match[1])
		}
		sections[match[1]] = true
	}
	return sections
}

// wrongCitations lists the citations of a comment that do not exist in the repository.
func wrongCitations(comment string, sections map[string]bool) []string {
	comment = strings.Join(strings.Fields(comment), " ")
	wrong := foreign.FindAllString(comment, -1)
	for _, match := range citation.FindAllStringSubmatch(comment, -1) {
		numbers := number.FindAllString(match[1], -1)
		if len(numbers) == 0 {
			wrong = append(wrong, match[0]+" without a section")
		}
		for _, one := range numbers {
			if !sections[one] {
				wrong = append(wrong, "docs/semantics.md "+one)
			}
		}
	}
	return wrong
}

func TestCommentsCiteSectionsThatExist(t *testing.T) {
	sections := sectionsOfSemantics(t)
	files := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name != ".." && strings.HasPrefix(name, ".") || name == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || filepath.Base(path) == "citations_test.go" {
			return nil
		}
		files++
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, comment := range parsed.Comments {
			for _, wrong := range wrongCitations(comment.Text(), sections) {
				t.Errorf("%s: cites %s", set.Position(comment.Pos()), wrong)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("looked at %d files only", files)
	}
}

func TestDocumentsCiteSectionsThatExist(t *testing.T) {
	text := readmetest.Read(t, semantics)
	sections := sectionsOfSemantics(t)
	// In docs/semantics.md itself sections are cited as "(7.2)" or "(1.11)".
	for _, match := range regexp.MustCompile(`\((\d{1,2}(?:\.\d+)?(?:, \d+\.\d+)*)\)`).FindAllStringSubmatch(text, -1) {
		for _, one := range number.FindAllString(match[1], -1) {
			if !sections[one] {
				t.Errorf("%s cites its section %s, which is not there", semantics, one)
			}
		}
	}
}

func TestWrongCitationsAreFound(t *testing.T) {
	sections := map[string]bool{"1": true, "1.2": true, "1.10": true}
	for comment, want := range map[string]int{
		"Rules (docs/semantics.md 1.2).":                       0,
		"Rules (docs/semantics.md 1.10, style 4).":             0,
		"Rules (docs/semantics.md\n1.2 and 1).":                0,
		"Rules (docs/semantics.md 1.3).":                       1,
		"Rules (docs/semantics.md 1.2, 1.3 and 2).":            2,
		"Rules (docs/semantics.md).":                           1,
		"Rules (contract/requests.md).":                        1,
		"Rules (choice 14).":                                   1,
		"Rules, as semantics.md 3 has it.":                     1,
		"Where docs/semantics.md 1.2 applies. 9 is no section": 0,
	} {
		if got := wrongCitations(comment, sections); len(got) != want {
			t.Errorf("%q: %q, want %d", comment, got, want)
		}
	}
}
