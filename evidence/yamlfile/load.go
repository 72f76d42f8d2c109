// Package yamlfile reads the YAML files of users strictly and within bounds, and locates each fault.
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
	// maxIndicators bounds the indicators, and so the nodes of a file, each of some hundred bytes. An entry has about ten.
	maxIndicators = 300_000
	// maxLineIndicators bounds the indicators of a line, as the scanner may have all tokens of a line in memory. One-line
	// JSON may have more: see splitJSON.
	maxLineIndicators = 20_000
	// maxDepth bounds nesting; the grammars need less than ten levels.
	maxDepth = 64
)

// ByteOrderMark is written by some editors. YAML ignores it.
var ByteOrderMark = []byte("\uFEFF")

// versionDirective matches the directive of YAML 1.2. The library accepts only that of 1.1, which has the same effect.
var versionDirective = regexp.MustCompile(`\A((?:[ \t]*(?:#.*)?\r?\n)*%YAML[ \t]+1\.)2\b`)

// tagDirective matches directives that define prefixes of tags. They are refused, because the library's time is
// quadratic in their number. The line separators of Unicode end a line, too.
var tagDirective = regexp.MustCompile(`(?:^|[\r\n\x{85}\x{2028}\x{2029}])\x{FEFF}*%TAG`)

// Parse reads a file of a format. Faults of the file, and those that read adds to its values, are an *Error.
func Parse[T any](f Format, content []byte, read func(root Value) T) (parsed T, err error) {
	root, err := f.load(content)
	if err != nil {
		return parsed, err
	}
	all := &faults{found: Error{Format: f}}
	parsed = read(Value{Node: root, faults: all})
	return parsed, all.err()
}

// load parses content into the root of its only YAML document, nil if there is none. Its time is linear in the size of
// the content. Faults of the file are an *Error.
func (f Format) load(content []byte) (root *yaml.Node, err error) {
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
	if line, ok := checkIndicators(content); !ok {
		return nil, f.unreadable(line, f.tooManyParts())
	}
	// The library panics on internal errors.
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

// splitJSON splits JSON of a single line that has too many indicators into a line for each member and item. ok is false
// for any other content.
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

// checkIndicators reports whether the number of indicators, the characters that structure YAML, is within bounds, and
// else the line with one too many. A line, even a comment, counts as one more.
func checkIndicators(content []byte) (line int, ok bool) {
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

// countIndicators counts indicators. Dashes within words do not count, as names have many. A quoted text counts once.
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
