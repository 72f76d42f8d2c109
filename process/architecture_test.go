package process

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"attestry/scripts/readme"
)

const (
	architecture = "../docs/architecture.md"

	maxPackageLines = 3000
	maxPackageFiles = 25
	maxAnswerFiles  = 3
)

// goPackage is a package of the module as its files say, without tests.
type goPackage struct {
	files, lines int
	imports      []string // those of the module without its name
}

// described reports whether the table of packages has a row for a package: neither
// commands of scripts/ nor helpers of tests have one.
func described(name string) bool {
	return !strings.HasPrefix(name, "scripts/") && !strings.HasSuffix(name, "test")
}

// packagesOf reads the packages of the module, by their path in it.
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

// tableAfter returns the rows of the first table that has a header, cell by cell.
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

// quoted returns what stands between backquotes, in order.
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

// TestPagesNameWhatExists fails when the text of a page names a file, folder or package
// that is not there. Left out are pages that also name media types and keys of objects.
func TestPagesNameWhatExists(t *testing.T) {
	packages := packagesOf(t)
	for _, file := range []string{architecture, "../README.md", "../CONTRIBUTING.md", "../docs/README.md", "../docs/api.md", "../docs/examples.md", "../docs/settings.md"} {
		text := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(readme.Read(t, file), "")
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

// TestArchitectureListsEveryPackage compares the table of packages with the code: each
// package has one row, and imports only what its row allows.
func TestArchitectureListsEveryPackage(t *testing.T) {
	packages := packagesOf(t)
	listed := map[string]bool{}
	for _, row := range tableAfter(t, readme.Read(t, architecture), "| package | what it is for | may import |") {
		name := quoted(row[0])[0]
		known := packages[name]
		if known == nil || len(row) != 3 || listed[name] {
			t.Errorf("the row of %s is wrong, double, or of no package", name)
			continue
		}
		listed[name] = true
		allowed := quoted(row[2])
		for _, other := range known.imports {
			if packages[other] != nil && !coveredBy(allowed, other) {
				t.Errorf("%s must not import %s", name, other)
			}
		}
		for _, pattern := range allowed {
			if !slices.ContainsFunc(known.imports, func(other string) bool { return covers(pattern, other) }) {
				t.Errorf("%s may import %s and does not", name, pattern)
			}
		}
	}
	for name := range packages {
		if described(name) && !listed[name] {
			t.Errorf("%s does not describe the package %s", architecture, name)
		}
	}
}

// TestLibrariesAreImportedWhereTheyBelong compares the table of libraries with the code.
func TestLibrariesAreImportedWhereTheyBelong(t *testing.T) {
	packages := packagesOf(t)
	for _, row := range tableAfter(t, readme.Read(t, architecture), "| library | imported by |") {
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

// TestPackagesAreSmall bounds the size of each package.
func TestPackagesAreSmall(t *testing.T) {
	for name, known := range packagesOf(t) {
		if known.files > maxPackageFiles || known.lines > maxPackageLines {
			t.Errorf("%s has %d files and %d lines, at most %d and %d are allowed", name, known.files, known.lines, maxPackageFiles, maxPackageLines)
		}
	}
}

// TestArchitectureDrawsEveryImport compares the picture of packages with the code: each
// arrow is an import, and each import is an arrow or a path of arrows.
func TestArchitectureDrawsEveryImport(t *testing.T) {
	packages := packagesOf(t)
	_, rest, _ := strings.Cut(readme.Read(t, architecture), "```mermaid\nflowchart")
	picture, _, _ := strings.Cut(rest, "```")
	box := map[string]string{} // package → box
	for _, match := range regexp.MustCompile(`(?m)^ +(\w+)\["([a-z0-9/<>]+)"\]$`).FindAllStringSubmatch(picture, -1) {
		for name := range strings.SplitSeq(match[2], "<br>") {
			if packages[name] == nil {
				t.Errorf("the picture has %s, which is no package", name)
			}
			box[name] = match[1]
		}
	}
	imports := map[[2]string]bool{} // between boxes
	for name, known := range packages {
		if !described(name) {
			continue
		}
		if box[name] == "" {
			t.Errorf("the picture lacks %s", name)
		}
		for _, other := range known.imports {
			if packages[other] != nil && box[other] != box[name] {
				imports[[2]string{box[name], box[other]}] = true
			}
		}
	}
	arrows := map[string][]string{}
	for _, match := range regexp.MustCompile(`(?m)^ +(\w+) --> (\w+)$`).FindAllStringSubmatch(picture, -1) {
		arrows[match[1]] = append(arrows[match[1]], match[2])
		if !imports[[2]string{match[1], match[2]}] {
			t.Errorf("the arrow from %s to %s is no import", match[1], match[2])
		}
	}
	for pair := range imports {
		if !leads(arrows, pair[0], pair[1]) {
			t.Errorf("no arrows lead from %s to %s, which it imports", pair[0], pair[1])
		}
	}
}

// leads reports whether arrows lead from one box to another.
func leads(arrows map[string][]string, from, to string) bool {
	reached := slices.Clone(arrows[from])
	for i := 0; i < len(reached); i++ {
		for _, next := range arrows[reached[i]] {
			if !slices.Contains(reached, next) {
				reached = append(reached, next)
			}
		}
	}
	return slices.Contains(reached, to)
}

// TestArchitectureAnswersWithFewFiles bounds the files that each of the questions names.
func TestArchitectureAnswersWithFewFiles(t *testing.T) {
	_, rest, _ := strings.Cut(readme.Read(t, architecture), "\n## Questions\n")
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
