package expression

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

type tokenKind int

const (
	endToken      tokenKind = iota
	nameToken               // a keyword, a function or a context such as flow.tags.team
	numberToken             // 3 or -1.5
	stringToken             // a quoted string; token.text is its content
	operatorToken           // == != < > <= >= ( ) [ ] ,
)

type token struct {
	kind   tokenKind
	text   string
	column int // in characters from 1
}

// String describes a token in errors.
func (t token) String() string {
	switch t.kind {
	case endToken:
		return "the end of the expression"
	case stringToken:
		return "a string"
	}
	return "'" + t.text + "'"
}

// tokenPattern matches blanks or a token, with a group for each kind except the end, in their order. Names may have the
// characters of tag keys.
var tokenPattern = regexp.MustCompile(`(?s)\A(?:[ \t\n\r]+|([A-Za-z_][A-Za-z_0-9.~-]*)|([0-9-][0-9.]*)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(==|!=|<=|>=|[<>()\[\],]))`)

// scan splits an expression into tokens, the last of which is an endToken.
func scan(text string) ([]token, error) {
	if !utf8.ValidString(text) {
		return nil, &Error{Column: 1, Reason: "the expression is not UTF-8 text"}
	}
	var tokens []token
	column := 1
	for rest := text; rest != ""; {
		found := tokenPattern.FindStringSubmatch(rest)
		if found == nil {
			return nil, unknownToken(rest, column)
		}
		for i, part := range found[1:] {
			if part != "" {
				tokens = append(tokens, token{kind: nameToken + tokenKind(i), text: part, column: column}.unquoted())
			}
		}
		column += utf8.RuneCountInString(found[0])
		rest = rest[len(found[0]):]
	}
	return append(tokens, token{kind: endToken, column: column}), nil
}

func unknownToken(rest string, column int) error {
	char, _ := utf8.DecodeRuneInString(rest)
	if char == '"' || char == '\'' {
		return &Error{Column: column, Reason: "the string has no closing quote"}
	}
	return &Error{Column: column, Reason: fmt.Sprintf("unexpected character %q", char)}
}

// unquoted removes the quotes of a string. A backslash escapes the quote. Before other characters it stays, so that
// regular expressions need no double backslashes.
func (t token) unquoted() token {
	if t.kind == stringToken {
		quote := t.text[:1]
		t.text = strings.ReplaceAll(t.text[1:len(t.text)-1], `\`+quote, quote)
	}
	return t
}
