package mutationtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// alteration replaces a part of a file.
type alteration struct {
	pkg, file   string // import path, path of the file
	content     string // of the file before
	from, to    int    // the part, in bytes
	replacement string
}

func (a alteration) text() string { return a.content[:a.from] + a.replacement + a.content[a.to:] }

// line is the number of the line in which the part begins, from 1.
func (a alteration) line() int { return strings.Count(a.content[:a.from], "\n") + 1 }

// String returns the file and line of the alteration.
func (a alteration) String() string {
	name := a.file
	if folder, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(folder, a.file); err == nil {
			name = relative
		}
	}
	return fmt.Sprintf("%s:%d", name, a.line())
}

// diff shows the lines that the alteration changes.
func (a alteration) diff() string {
	begin := strings.LastIndex(a.content[:a.from], "\n") + 1
	end := a.to + strings.Index(a.content[a.to:]+"\n", "\n")
	before := a.content[begin:end]
	after := a.content[begin:a.from] + a.replacement + a.content[a.to:end]
	return "-" + strings.ReplaceAll(before, "\n", "\n-") + "\n+" + strings.ReplaceAll(after, "\n", "\n+") + "\n"
}

// otherOperators are the replacements of operators.
var otherOperators = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==",
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.LAND: "||", token.LOR: "&&",
	token.ADD: "-", token.SUB: "+",
}

// alterations lists the possible alterations of a file. Some of them do not compile.
func alterations(pkg, file, content string) ([]alteration, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []alteration
	replace := func(from, to token.Pos, replacement string) {
		all = append(all, alteration{pkg, file, content, files.Position(from).Offset, files.Position(to).Offset, replacement})
	}
	source := func(node ast.Node) string {
		return content[files.Position(node.Pos()).Offset:files.Position(node.End()).Offset]
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			// Another capacity of a slice or map makes no difference.
			if name, ok := node.Fun.(*ast.Ident); ok && name.Name == "make" {
				return false
			}
		case *ast.BinaryExpr:
			if node.Op == token.MUL && strings.HasPrefix(source(node.Y), "time.") {
				return false // a slightly longer duration makes no difference
			}
			if other := otherOperators[node.Op]; other != "" {
				replace(node.OpPos, node.OpPos+token.Pos(len(node.Op.String())), other)
			}
		case *ast.UnaryExpr:
			if node.Op == token.NOT {
				replace(node.OpPos, node.OpPos+1, "")
			}
		case *ast.IfStmt:
			// The condition stays, since a variable that is not used does not compile.
			replace(node.Cond.Pos(), node.Cond.End(), "true || ("+source(node.Cond)+")")
			replace(node.Cond.Pos(), node.Cond.End(), "false && ("+source(node.Cond)+")")
		case *ast.ExprStmt, *ast.IncDecStmt:
			replace(node.Pos(), node.End(), "")
		case *ast.AssignStmt:
			if node.Tok != token.DEFINE {
				replace(node.Pos(), node.End(), "")
			}
		case *ast.BasicLit:
			if node.Kind == token.INT {
				replace(node.Pos(), node.End(), "("+node.Value+" + 1)")
			}
		case *ast.ReturnStmt:
			last := len(node.Results) - 1
			if last < 0 {
				return false
			}
			ok := source(node.Results[last])
			if ok == "err" {
				replace(node.Results[last].Pos(), node.Results[last].End(), "nil")
			}
			// Callers ignore the other results beside false or an error.
			return ok != "false" && !strings.Contains(strings.ToLower(ok), "err")
		}
		return true
	})
	return all, nil
}
