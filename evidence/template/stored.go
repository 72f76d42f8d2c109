package template

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"go.yaml.in/yaml/v4"
)

// ParseStored reads a template that was accepted once. Earlier versions of this service took names
// of any length, and read YAML with another library, which also took files that Parse refuses.
func ParseStored(content []byte) (Template, error) {
	if parsed, err := readStored(content); err == nil {
		return parsed, nil
	}
	return readStored(repaired(content))
}

func readStored(content []byte) (Template, error) {
	root, err := format.Load(content)
	if err != nil {
		return Template{}, err
	}
	if root != nil {
		trimKeys(root)
	}
	return read(root, len(content))
}

// trimKeys removes blanks around keys, which the former library ignored.
func trimKeys(node *yaml.Node) {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			child.Value = strings.TrimSpace(child.Value)
		}
		trimKeys(child)
	}
}

// formerForms are forms that only the former library took, with what replaces them.
var formerForms = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`[\x00-\x08\x0b\x0c\x0e-\x1f]`), ``},
	// Directives.
	{regexp.MustCompile(`(?m)^%.*$`), ``},
	// A text in quotes directly behind its key, or before a comment.
	{regexp.MustCompile(`(\w):(["'])`), `${1}: ${2}`},
	{regexp.MustCompile(`(["'])#`), `${1} #`},
	// A number at the beginning of the line behind its key.
	{regexp.MustCompile(`(?m)^(\w+):[ \t]*\r?\n(\d+[ \t]*\r?)$`), `${1}: ${2}`},
}

// surrogates finds a character outside the basic plane, as JSON escapes it.
var surrogates = regexp.MustCompile(`\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})`)

// repaired is content without the forms that only the former library took.
func repaired(content []byte) []byte {
	for _, former := range formerForms {
		content = former.form.ReplaceAll(content, []byte(former.as))
	}
	return surrogates.ReplaceAllFunc(content, func(pair []byte) []byte {
		parts := bytes.Split(pair, []byte(`\u`))
		high, _ := strconv.ParseUint(string(parts[1]), 16, 16)
		low, _ := strconv.ParseUint(string(parts[2]), 16, 16)
		return fmt.Appendf(nil, `\U%08x`, utf16.DecodeRune(rune(high), rune(low)))
	})
}
