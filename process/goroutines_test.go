package process

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoroutinesAreStartedByOnePackage: elsewhere a panic would end the process. What scripts/ has runs
// by itself or beside a test, and what is named ...test is a part of tests.
func TestGoroutinesAreStartedByOnePackage(t *testing.T) {
	files := token.NewFileSet()
	looked := 0
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(file), "../")
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".") && file != ".." || name == "scripts" || name == "goroutine" || strings.HasSuffix(name, "test") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		looked++
		for _, place := range startsOf(parsed) {
			t.Errorf("%s starts a goroutine: goroutine.Start and goroutine.Group recover its panics", files.Position(place))
		}
		return nil
	})
	if err != nil || looked == 0 {
		t.Fatalf("%d files, error %v", looked, err)
	}
}

// startsOf lists where a file starts goroutines by itself or by a kind of group that does not recover.
func startsOf(file *ast.File) []token.Pos {
	var places, calls []token.Pos
	waits := false
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			places = append(places, node.Pos())
		case *ast.SelectorExpr:
			from, _ := node.X.(*ast.Ident)
			switch {
			case from != nil && from.Name == "errgroup":
				places = append(places, node.Pos())
			case from != nil && from.Name == "sync" && node.Sel.Name == "WaitGroup":
				waits = true
			case node.Sel.Name == "Go":
				calls = append(calls, node.Pos())
			}
		}
		return true
	})
	if waits {
		places = append(places, calls...)
	}
	return places
}
