package process

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"attestry/scripts/readmetest"
)

const (
	architecture = "../docs/architecture.md"

	maxPackageLines = 3000
	maxPackageFiles = 25
	maxAnswerFiles  = 3
)

// layers are all packages of the module. A package imports packages of its own layer and of the layers further down. If
// several patterns match a package, an exact one counts, then the longest.
var layers = []layer{
	{name: "commands", packages: []string{"api", "worker"}, apart: true},
	{name: "servers", packages: []string{"api/service", "worker/server"}, apart: true},
	{name: "process", packages: []string{"process/..."}},
	{name: "engines", packages: []string{"storage/mongodb", "storage/pebble/...", "storage/s3", "storage/filesystem", "storage/guard", "storage/written"}},
	{name: "pages", packages: []string{"api/web/..."}},
	{name: "operations", packages: []string{"api/..."}, apart: true},
	{name: "resources", packages: []string{"api/resource", "api/assessment"}},
	{name: "HTTP", packages: []string{
		"api/server", "api/access", "api/limits", "api/oidc", "api/memory", "api/validation", "api/jsonstream",
		"api/framing", "api/representation", "api/recognition", "api/docs", "api/examples",
	}},
	{name: "tasks", packages: []string{"tasks/..."}},
	{name: "use cases", packages: []string{"app/..."}},
	{name: "repositories", packages: []string{"storage/..."}, apart: true},
	{name: "storage", packages: []string{"storage", "storage/names", "storage/transfer"}},
	{name: "support", packages: []string{
		"config", "goroutine", "links", "monitor", "notify", "outbound", "process/buildinfo",
		"process/redact", "storage/cache", "storage/spool", "trace",
	}},
	{name: "domain", packages: []string{"evidence/..."}},
}

type layer struct {
	name     string
	packages []string // x, or x/... for x and everything below it
	apart    bool     // the packages do not import one another
}

// layerOf returns the index of a package's layer, -1 without one.
func layerOf(name string) int {
	found, longest := -1, ""
	for i, layer := range layers {
		for _, pattern := range layer.packages {
			if pattern == name {
				return i
			}
			if covers(pattern, name) && len(pattern) > len(longest) {
				found, longest = i, pattern
			}
		}
	}
	return found
}

// goPackage describes the files of a package of the module, without tests.
type goPackage struct {
	files, lines int
	imports      []string // packages of the module without the module's name
}

// described reports whether the table of packages must have a row for a package: commands of scripts/ and test helpers
// have none.
func described(name string) bool {
	return !strings.HasPrefix(name, "scripts/") && !strings.Contains(name+"/", "test/")
}

// packagesOf reads the packages of the module, by path.
func packagesOf(t *testing.T) map[string]*goPackage {
	t.Helper()
	packages := map[string]*goPackage{}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, err := os.Stat(filepath.Join(file, "go.mod"))
			if name := entry.Name(); file != ".." && (err == nil || name == "testdata" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel("..", filepath.Dir(file))
		if err != nil {
			return err
		}
		name := filepath.ToSlash(folder)
		if packages[name] == nil {
			packages[name] = &goPackage{}
		}
		known := packages[name]
		known.files++
		known.lines += strings.Count(string(content), "\n")
		for _, imported := range parsed.Imports {
			other, err := strconv.Unquote(imported.Path.Value)
			if err != nil {
				return err
			}
			if other = strings.TrimPrefix(other, "attestry/"); !slices.Contains(known.imports, other) {
				known.imports = append(known.imports, other)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// tableAfter returns the cells of the first table with a header, row by row.
func tableAfter(t *testing.T, text, header string) [][]string {
	t.Helper()
	_, rest, ok := strings.Cut(text, header+"\n")
	if !ok {
		t.Fatalf("%s has no table %s", architecture, header)
	}
	var rows [][]string
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if strings.HasPrefix(line, "|---") {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|\n "), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}

// quoted returns the texts between backquotes, in order.
func quoted(text string) []string {
	var found []string
	for _, match := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

// covers reports whether a pattern, x or x/..., matches a path.
func covers(pattern, name string) bool {
	root, tree := strings.CutSuffix(pattern, "/...")
	return name == root || tree && strings.HasPrefix(name, root+"/")
}

func coveredBy(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return covers(pattern, name) })
}

// TestDocumentsNameExistingFiles checks that files, folders and packages named in documents exist. Documents that also
// name media types and keys of objects are not checked.
func TestDocumentsNameExistingFiles(t *testing.T) {
	packages := packagesOf(t)
	for _, file := range []string{architecture, "../README.md", "../CONTRIBUTING.md", "../docs/README.md", "../docs/api.md", "../docs/examples.md", "../docs/settings.md"} {
		text := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(readmetest.Read(t, file), "")
		for _, name := range quoted(text) {
			name = strings.TrimPrefix(strings.TrimSuffix(name, "/..."), "./")
			first, _, _ := strings.Cut(name, "/")
			switch {
			case !regexp.MustCompile(`^[a-zA-Z0-9_./-]+$`).MatchString(name),
				!strings.Contains(name, "/") && !strings.HasSuffix(name, ".go") && packages[name] == nil,
				strings.HasPrefix(name, "/"), strings.Contains(first, "."):
				continue // no path of the repository
			}
			if _, err := os.Stat(filepath.Join("..", name)); err != nil {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
}

// TestArchitectureListsEveryPackage compares the table of packages with the code.
func TestArchitectureListsEveryPackage(t *testing.T) {
	packages := packagesOf(t)
	listed := map[string]bool{}
	for _, row := range tableAfter(t, readmetest.Read(t, architecture), "| package | what it is for |") {
		name := quoted(row[0])[0]
		if packages[name] == nil || len(row) != 2 || listed[name] {
			t.Errorf("the row of %s is wrong, double, or of no package", name)
		}
		listed[name] = true
	}
	for name := range packages {
		if described(name) && !listed[name] {
			t.Errorf("%s does not describe the package %s", architecture, name)
		}
	}
}

// TestImportsFollowTheLayers compares the imports with the layers.
func TestImportsFollowTheLayers(t *testing.T) {
	packages := packagesOf(t)
	for name, known := range packages {
		if !described(name) {
			continue
		}
		from := layerOf(name)
		if from < 0 {
			t.Errorf("%s is in no layer", name)
			continue
		}
		for _, other := range known.imports {
			to := layerOf(other)
			if packages[other] != nil && (to < from || to == from && layers[from].apart) {
				t.Errorf("%s must not import %s", name, other)
			}
		}
	}
}

// TestLibrariesAreImportedWhereTheyBelong compares the table of libraries with the code.
func TestLibrariesAreImportedWhereTheyBelong(t *testing.T) {
	packages := packagesOf(t)
	for _, row := range tableAfter(t, readmetest.Read(t, architecture), "| library | imported by |") {
		library, allowed := quoted(row[0])[0], quoted(row[1])
		used := false
		for name, known := range packages {
			if !described(name) || !slices.ContainsFunc(known.imports, func(other string) bool { return covers(library+"/...", other) }) {
				continue
			}
			used = true
			if !coveredBy(allowed, name) {
				t.Errorf("%s must not import %s", name, library)
			}
		}
		if !used {
			t.Errorf("nothing imports %s", library)
		}
	}
}

// TestUsualBuildIsWithoutOpenTelemetry checks all packages that the processes import without the tag otel.
func TestUsualBuildIsWithoutOpenTelemetry(t *testing.T) {
	listing := exec.CommandContext(t.Context(), "go", "list", "-tags=", "-deps", "./api", "./worker", "./scripts/standalone")
	listing.Dir = ".."
	found, err := listing.Output()
	if err != nil || !strings.Contains(string(found), "attestry/process/spans\n") {
		t.Fatalf("the packages cannot be listed: %v", err)
	}
	for name := range strings.Lines(string(found)) {
		if strings.HasPrefix(name, "go.opentelemetry.io/") || strings.HasPrefix(name, "google.golang.org/grpc") {
			t.Errorf("the processes need %s", name)
		}
	}
}

// TestPackagesAreSmall bounds the size of each package.
func TestPackagesAreSmall(t *testing.T) {
	for name, known := range packagesOf(t) {
		if known.files > maxPackageFiles || known.lines > maxPackageLines {
			t.Errorf("%s has %d files and %d lines, at most %d and %d are allowed", name, known.files, known.lines, maxPackageFiles, maxPackageLines)
		}
	}
}

// TestArchitectureDrawsTheImports compares the picture of layers with the imports.
func TestArchitectureDrawsTheImports(t *testing.T) {
	readmetest.Check(t, architecture, "layers", picture(packagesOf(t)))
}

// picture draws each layer as a box and each import between layers as an arrow, unless a path of other arrows leads to
// the same layer.
func picture(packages map[string]*goPackage) string {
	boxes := make([][]string, len(layers))
	imports := make([]map[int]bool, len(layers))
	for i := range layers {
		imports[i] = map[int]bool{}
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		from := layerOf(name)
		if !described(name) || from < 0 {
			continue
		}
		boxes[from] = append(boxes[from], name)
		for _, other := range packages[name].imports {
			if packages[other] != nil && layerOf(other) != from {
				imports[from][layerOf(other)] = true
			}
		}
	}

	var drawn strings.Builder
	drawn.WriteString("```mermaid\nflowchart TD\n")
	for i, layer := range layers {
		fmt.Fprintf(&drawn, "    layer%d[\"<b>%s</b><br>%s\"]\n", i, layer.name, strings.Join(boxes[i], "<br>"))
	}
	for from := range layers {
		for _, to := range slices.Sorted(maps.Keys(imports[from])) {
			if !leadsByOthers(imports, from, to) {
				fmt.Fprintf(&drawn, "    layer%d --> layer%d\n", from, to)
			}
		}
	}
	drawn.WriteString("```\n")
	return drawn.String()
}

// leadsByOthers reports whether a path of at least two imports leads from one layer to another further down.
func leadsByOthers(imports []map[int]bool, from, to int) bool {
	for next := range imports[from] {
		if next > from && next < to && (imports[next][to] || leadsByOthers(imports, next, to)) {
			return true
		}
	}
	return false
}

// TestArchitectureAnswersWithFewFiles bounds the files that each of the questions names.
func TestArchitectureAnswersWithFewFiles(t *testing.T) {
	_, rest, _ := strings.Cut(readmetest.Read(t, architecture), "\n## Questions\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	questions := strings.Split(section, "\n### ")[1:]
	if len(questions) != 6 {
		t.Errorf("there are %d questions", len(questions))
	}
	for _, question := range questions {
		title, answer, _ := strings.Cut(question, "\n")
		var files []string
		for _, name := range quoted(answer) {
			if path.Ext(name) == ".go" && !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
		if len(files) == 0 || len(files) > maxAnswerFiles {
			t.Errorf("%q is answered by %v", title, files)
		}
	}
}
