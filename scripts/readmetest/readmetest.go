// Package readmetest compares README.md and docs/ with generated tables and with the output of programs.
package readmetest

import (
	"os"
	"strings"
	"testing"
)

// Updating reports whether generated parts of pages are written instead of compared.
func Updating() bool { return os.Getenv("ATTESTRY_TEST_UPDATE") != "" }

// Check compares the text between the markers `<!-- name -->` and `<!-- /name -->` of the file with want.
func Check(t *testing.T, file, name, want string) {
	t.Helper()
	CheckOutput(t, file, name, want, func(text string) string { return text })
}

// CheckOutput is Check for the output of a program. normalize replaces parts that differ between runs, such as times.
// An update writes the output as it is, and only if other parts have changed.
func CheckOutput(t *testing.T, file, name, want string, normalize func(string) string) {
	t.Helper()
	content := Read(t, file)
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, _ := strings.Cut(content, begin)
	text, after, ok := strings.Cut(rest, end)
	switch {
	case !ok:
		t.Fatalf("%s has no part %s", file, name)
	case normalize(text) == normalize(want):
		return
	case !Updating():
		t.Errorf("the part %s of %s is not\n%s", name, file, want)
		return
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Read returns the text of the file.
func Read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
