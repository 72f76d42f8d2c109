// Package readme keeps the generated tables of README.md and docs/ true: tests
// compare them with what the code says.
package readme

import (
	"os"
	"strings"
	"testing"
)

// Updating tells that what is generated is to be written instead of compared.
func Updating() bool { return os.Getenv("ATTESTRY_TEST_UPDATE") != "" }

// Check compares the text between the markers `<!-- name -->` and `<!-- /name -->`
// of the file with want.
func Check(t *testing.T, file, name, want string) {
	t.Helper()
	content := Read(t, file)
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, _ := strings.Cut(content, begin)
	table, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no table of %s", file, name)
	}
	if !Updating() {
		if table != want {
			t.Errorf("the table of %s in %s is not\n%s", name, file, want)
		}
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
