package template

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

const (
	// maxTokens bounds what a file of the greatest size costs, which would else
	// take gigabytes to parse: it leaves room for 30,000 requirements.
	maxTokens = 250_000
	// maxIndicators bounds what the scanner is given, as it makes all tokens of a
	// line at once: a requirement has about six.
	maxIndicators = 300_000
	// maxDepth bounds nesting; the grammar needs less than ten levels.
	maxDepth = 64
)

// byteOrderMark leads the files of some editors; in YAML it means nothing.
var byteOrderMark = []byte("\uFEFF")

// document parses content into the body of its one YAML document. The parser
// recurses with the nesting, and a stack that overflows cannot be recovered from,
// so the tokens are looked at before.
func document(content []byte) (body ast.Node, err error) {
	content = bytes.TrimPrefix(content, byteOrderMark)
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return nil, unreadable(1, "Invalid YAML: the file is not UTF-8 text")
	}
	if line, ok := plausible(content); !ok {
		return nil, unreadable(line, tooManyParts)
	}
	// The parser panics on some malformed files.
	defer func() {
		if recover() != nil {
			body, err = nil, unreadable(1, "Invalid YAML: the file cannot be parsed")
		}
	}()
	tokens, err := tokensOf(content)
	if err != nil {
		return nil, err
	}
	// The parser's own check for duplicate keys is quadratic; the reader has one.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxError(err)
	}
	return onlyBody(file)
}

const tooManyParts = "The template has too many parts"

// plausible tells whether content can be a template within bounds, by the
// characters that give YAML its structure, and else the line with one too many.
// Comments count by their lines.
func plausible(content []byte) (line int, ok bool) {
	indicators := 0
	for text := range bytes.Lines(content) {
		line++
		indicators++
		text = bytes.TrimSpace(text)
		if !bytes.HasPrefix(text, []byte("#")) {
			indicators += countIndicators(text)
		}
		if indicators > maxIndicators {
			return line, false
		}
	}
	return line, true
}

// countIndicators leaves out dashes within words, of which names are full.
func countIndicators(text []byte) int {
	count := 0
	for i, c := range text {
		switch c {
		case '[', ']', '{', '}', ',', ':', '?', '&', '*', '!', '\r':
			count++
		case '-':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t' {
				count++
			}
		}
	}
	return count
}

func onlyBody(file *ast.File) (ast.Node, error) {
	var body ast.Node
	documents := 0
	for _, doc := range file.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); directive {
			continue
		}
		if documents++; documents > 1 {
			return nil, unreadable(lineOf(doc), "Invalid YAML: there is more than one document in the file")
		}
		body = doc.Body
	}
	return body, nil
}

func syntaxError(err error) error {
	var syntax yaml.Error
	if !errors.As(err, &syntax) {
		return unreadable(1, "Invalid YAML: "+err.Error())
	}
	return unreadable(lineOfToken(syntax.GetToken()), "Invalid YAML: "+syntax.GetMessage())
}

// tokensOf scans content, without its comments, as far as it is within bounds.
func tokensOf(content []byte) (token.Tokens, error) {
	var source scanner.Scanner
	source.Init(string(content))
	var tokens token.Tokens
	nesting := nesting{}
	for {
		// Like the lexer of the library: what is invalid comes as a token, and the
		// parser words it.
		scanned, err := source.Scan()
		if errors.Is(err, io.EOF) {
			return tokens, nil
		}
		for _, t := range scanned {
			if t.Type == token.CommentType {
				continue
			}
			if len(tokens) == maxTokens {
				return nil, unreadable(lineOfToken(t), tooManyParts)
			}
			if err := nesting.check(tokens, t); err != nil {
				return nil, err
			}
			tokens.Add(t)
		}
	}
}

// nesting follows how deep tokens lie within each other.
type nesting struct {
	// columns are those of the block lists and mappings that are open.
	columns []int
	// flow counts the brackets and braces that are open.
	flow int
	// properties counts anchors and tags in a row.
	properties int
}

// check takes in the token that follows others, and refuses it when it lies too
// deep.
func (n *nesting) check(before token.Tokens, t *token.Token) error {
	n.count(before, t)
	if n.flow+len(n.columns)+n.properties > maxDepth {
		return unreadable(lineOfToken(t), "The template is nested too deeply")
	}
	if t.Type == token.MappingKeyType {
		return unreadable(lineOfToken(t), "Explicit keys (?) are not supported")
	}
	return nil
}

func (n *nesting) count(before token.Tokens, t *token.Token) {
	switch t.Type {
	case token.AnchorType, token.TagType:
		n.properties++
		return
	case token.SequenceStartType, token.MappingStartType:
		n.flow++
	case token.SequenceEndType, token.MappingEndType:
		n.flow = max(n.flow-1, 0)
	case token.SequenceEntryType:
		n.open(t)
	case token.MappingValueType:
		if len(before) > 0 {
			n.open(before[len(before)-1])
		}
	}
	if len(before) == 0 || before[len(before)-1].Type != token.AnchorType {
		n.properties = 0
	}
}

// open notes a block list or mapping at the column of its indicator, which closes
// those that began behind or at that column.
func (n *nesting) open(t *token.Token) {
	if n.flow > 0 {
		return
	}
	column := t.Position.Column
	for len(n.columns) > 0 && n.columns[len(n.columns)-1] >= column {
		n.columns = n.columns[:len(n.columns)-1]
	}
	n.columns = append(n.columns, column)
}

func lineOf(node ast.Node) int {
	if node == nil {
		return 1
	}
	return lineOfToken(node.GetToken())
}

func lineOfToken(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 1
	}
	return max(t.Position.Line, 1)
}

// anchors finds the nodes that aliases stand for.
type anchors struct {
	named map[string]*ast.AnchorNode
	again *ast.AnchorNode
}

// Visit notes one node.
func (a *anchors) Visit(node ast.Node) ast.Visitor {
	anchor, ok := node.(*ast.AnchorNode)
	if !ok {
		return a
	}
	name := nameOf(anchor.Name)
	if _, taken := a.named[name]; taken {
		a.again = anchor
		return a
	}
	a.named[name] = anchor
	return a
}

func nameOf(node ast.Node) string {
	if node == nil || node.GetToken() == nil {
		return ""
	}
	return strings.TrimSpace(node.GetToken().Value)
}
