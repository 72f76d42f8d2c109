package process

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestImageIsBuiltFromAllThatItImports compares .dockerignore with what the programs in the image import.
func TestImageIsBuiltFromAllThatItImports(t *testing.T) {
	packages := packagesOf(t)
	content, err := os.ReadFile("../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(content))
	var missing []string
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] || packages[name] == nil { // a package of a library
			return
		}
		seen[name] = true
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix("!"+name+"/", line+"/") }) {
			missing = append(missing, name)
		}
		for _, imported := range packages[name].imports {
			visit(imported)
		}
	}
	visit("api")
	visit("worker")
	visit("scripts/standalone")
	if len(seen) < 20 || len(missing) > 0 {
		t.Errorf("of %d packages, .dockerignore lacks those of %q", len(seen), missing)
	}
}
