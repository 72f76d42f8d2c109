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

// A panic of a goroutine that is started elsewhere would end the process. Commands of scripts/ and packages named
// ...test are no part of the processes.
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
		for _, position := range startsOf(parsed) {
			t.Errorf("%s starts a goroutine: goroutine.Start and goroutine.Group recover its panics", files.Position(position))
		}
		return nil
	})
	if err != nil || looked == 0 {
		t.Fatalf("%d files, error %v", looked, err)
	}
}

// startsOf lists where a file starts goroutines with go, errgroup or sync.WaitGroup, which do not recover panics.
func startsOf(file *ast.File) []token.Pos {
	var positions, calls []token.Pos
	waits := false
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			positions = append(positions, node.Pos())
		case *ast.SelectorExpr:
			from, _ := node.X.(*ast.Ident)
			switch {
			case from != nil && from.Name == "errgroup":
				positions = append(positions, node.Pos())
			case from != nil && from.Name == "sync" && node.Sel.Name == "WaitGroup":
				waits = true
			case node.Sel.Name == "Go":
				calls = append(calls, node.Pos())
			}
		}
		return true
	})
	if waits {
		positions = append(positions, calls...)
	}
	return positions
}
