package process

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"attestry/scripts/readmetest"
)

const operations = "../docs/operations.md"

// sourcesOf returns the Go code of the processes, without tests.
func sourcesOf(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, root := range []string{"../api", "../worker", "../tasks", "../storage", "../monitor", "."} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			all.Write(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

func namesIn(text, pattern string) []string {
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func TestOperationsDescribesEveryMetric(t *testing.T) {
	made := namesIn(sourcesOf(t), `"(attestry_[a-z_]+)"`)
	described := namesIn(readmetest.Read(t, operations), "\\| `(attestry_[a-z_]+)`")
	if !slices.Equal(made, described) {
		t.Errorf("the code makes %v, %s describes %v", made, operations, described)
	}
}

func TestOperationsDescribesEveryWarning(t *testing.T) {
	logged := namesIn(sourcesOf(t), `(?:[lL]og|logger|entry)\.(?:Warn|Error)(?:Context)?\((?:\w+, )?"([^"]+)"`)
	_, logs, _ := strings.Cut(readmetest.Read(t, operations), "\n## Logs\n")
	described, _, _ := strings.Cut(logs, "\n## ")
	for _, message := range logged {
		if !strings.Contains(described, "`"+message+"`") {
			t.Errorf("%s does not describe %q", operations, message)
		}
	}
	if len(logged) < 10 {
		t.Errorf("found %v alone", logged)
	}
}
