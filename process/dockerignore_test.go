package process

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"attestry/scripts/readmetest"
)

// TestDockerignoreIncludesAllImportedPackages compares .dockerignore with what the programs of the image import.
func TestDockerignoreIncludesAllImportedPackages(t *testing.T) {
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
	var programs []string
	for _, built := range regexp.MustCompile(`-o /out/attestry-\S+ \./(\S+)`).FindAllStringSubmatch(readmetest.Read(t, "../Dockerfile"), -1) {
		programs = append(programs, built[1])
		visit(built[1])
	}
	if want := []string{"api", "worker", "scripts/standalone", "scripts/admin", "scripts/verify-package"}; !slices.Equal(programs, want) {
		t.Errorf("the image has %q, want %q", programs, want)
	}
	if len(seen) < 20 || len(missing) > 0 {
		t.Errorf("of %d packages, .dockerignore lacks those of %q", len(seen), missing)
	}
}
