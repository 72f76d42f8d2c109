// Package yamlfile reads the YAML files of users: within bounds, strictly, with the location of each fault.
package yamlfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

const (
	// maxIndicators bounds the nodes of a file, each of some hundred bytes; an entry has about ten indicators.
	maxIndicators = 300_000
	// maxLineIndicators bounds those of a line, whose tokens the scanner may hold at once. JSON may have more.
	maxLineIndicators = 20_000
	// maxDepth bounds nesting; the grammars need less than ten levels.
	maxDepth = 64
)

// ByteOrderMark leads the files of some editors; in YAML it means nothing.
var ByteOrderMark = []byte("\uFEFF")

// versionDirective begins some files of YAML 1.2. The library takes that of 1.1 only, which means the same.
var versionDirective = regexp.MustCompile(`\A((?:[ \t]*(?:#.*)?\r?\n)*%YAML[ \t]+1\.)2\b`)

// tagDirective finds directives that define prefixes of tags, which these files do not have. The library takes the
// square of their number. A line also ends with the separators of Unicode.
var tagDirective = regexp.MustCompile(`(?:^|[\r\n\x{85}\x{2028}\x{2029}])\x{FEFF}*%TAG`)

// Load parses content into the root of its one YAML document, nil when there is none.
// Its cost is linear in the size of the content. What is wrong with it is an *Error.
func (f Format) Load(content []byte) (root *yaml.Node, err error) {
	content = bytes.TrimPrefix(content, ByteOrderMark)
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return nil, f.unreadable(1, "Invalid YAML: the file is not UTF-8 text")
	}
	if at := tagDirective.FindIndex(content); at != nil {
		return nil, f.unreadable(1+bytes.Count(content[:at[1]], []byte("\n")), "Invalid YAML: %TAG directives are not supported")
	}
	split, isSplit := splitJSON(content)
	if isSplit {
		content = split
	}
	if line, ok := plausible(content); !ok {
		return nil, f.unreadable(line, f.tooManyParts())
	}
	// The library panics where it finds a fault of its own.
	defer func() {
		if recover() != nil {
			root, err = nil, f.unreadable(1, "Invalid YAML: the file cannot be parsed")
		}
	}()
	content = versionDirective.ReplaceAll(content, []byte("${1}1"))
	loader, err := yaml.NewLoader(bytes.NewReader(content), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, fmt.Errorf("make a YAML loader: %w", err)
	}
	var first, second yaml.Node
	if err := loader.Load(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, f.syntaxError(err)
	}
	switch err := loader.Load(&second); {
	case err == nil:
		return nil, f.unreadable(second.Line, "Invalid YAML: there is more than one document in the file")
	case !errors.Is(err, io.EOF):
		return nil, f.syntaxError(err)
	}
	if isSplit {
		setLine(first.Content[0], 1)
	}
	return first.Content[0], nil
}

// splitJSON puts the members and items of JSON on lines of their own when it is one
// line with more indicators than a line may have. ok is false for any other content.
func splitJSON(content []byte) (split []byte, ok bool) {
	content = bytes.TrimSpace(content)
	if countIndicators(content) <= maxLineIndicators || bytes.IndexByte(content, '\n') >= 0 {
		return nil, false
	}
	var b bytes.Buffer
	err := json.Indent(&b, content, "", "")
	return b.Bytes(), err == nil
}

func setLine(node *yaml.Node, line int) {
	node.Line, node.Column = line, 0
	for _, child := range node.Content {
		setLine(child, line)
	}
}

// plausible reports whether content can be a file within bounds, by the characters that give YAML its structure, and
// else the line with one too many. Comments count by their lines.
func plausible(content []byte) (line int, ok bool) {
	indicators := 0
	for text := range bytes.Lines(content) {
		line++
		indicators++
		text = bytes.TrimSpace(text)
		ofLine := 0
		if !bytes.HasPrefix(text, []byte("#")) {
			ofLine = countIndicators(text)
		}
		indicators += ofLine
		if indicators > maxIndicators || ofLine > maxLineIndicators {
			return line, false
		}
	}
	return line, true
}

// countIndicators leaves out dashes within words, of which names are full. A text in quotes counts once.
func countIndicators(text []byte) int {
	count, quotes := 0, 0
	for i, c := range text {
		switch c {
		case '[', ']', '{', '}', ',', ':', '?', '&', '*', '!', '\r':
			count++
		case '"', '\'':
			quotes++
		case '-':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t' {
				count++
			}
		}
	}
	return count + quotes/2
}

func (f Format) syntaxError(err error) error {
	if fault, ok := errors.AsType[*yaml.LoadError](err); ok {
		return f.unreadable(max(fault.Mark.Line, 1), "Invalid YAML: "+cut(fault.Message))
	}
	return f.unreadable(1, "Invalid YAML: "+cut(err.Error()))
}
