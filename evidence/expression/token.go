package expression

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

type tokenKind int

const (
	endToken      tokenKind = iota
	nameToken               // a keyword, a function or a context such as flow.tags.team
	numberToken             // 3 or -1.5
	stringToken             // text in quotes, whose content is in text
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

// operators are sorted so that of two with the same beginning the longer comes first.
var operators = []string{"==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", ","}

// scan splits an expression into tokens, the last of which is an endToken.
func scan(text string) ([]token, error) {
	if !utf8.ValidString(text) {
		return nil, &Error{Column: 1, Reason: "the expression is not UTF-8 text"}
	}
	var tokens []token
	column := 1
	for rest := text; rest != ""; {
		size := 1
		if !isSpace(rest[0]) {
			found, n, err := scanToken(rest, column)
			if err != nil {
				return nil, err
			}
			tokens, size = append(tokens, found), n
		}
		column += utf8.RuneCountInString(rest[:size])
		rest = rest[size:]
	}
	return append(tokens, token{kind: endToken, column: column}), nil
}

// scanToken reads the token that rest begins with, and returns its size in bytes.
func scanToken(rest string, column int) (found token, size int, err error) {
	for _, operator := range operators {
		if strings.HasPrefix(rest, operator) {
			return token{kind: operatorToken, text: operator, column: column}, len(operator), nil
		}
	}
	switch c := rest[0]; {
	case c == '"' || c == '\'':
		return scanString(rest, column)
	case isDigit(c) || c == '-':
		size = 1 + countWhile(rest[1:], func(c byte) bool { return isDigit(c) || c == '.' })
		return token{kind: numberToken, text: rest[:size], column: column}, size, nil
	case isLetter(c):
		size = countWhile(rest, isNamePart)
		return token{kind: nameToken, text: rest[:size], column: column}, size, nil
	}
	char, _ := utf8.DecodeRuneInString(rest)
	return token{}, 0, &Error{Column: column, Reason: fmt.Sprintf("unexpected character %q", char)}
}

// scanString reads a text in quotes. A backslash before the quote makes it part of the
// text; before anything else it stays, so that regular expressions need no doubled ones.
func scanString(rest string, column int) (found token, size int, err error) {
	quote := rest[0]
	var text strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == quote:
			return token{kind: stringToken, text: text.String(), column: column}, i + 1, nil
		case c == '\\' && i+1 < len(rest):
			i++
			if rest[i] != quote {
				text.WriteByte(c)
			}
			text.WriteByte(rest[i])
		default:
			text.WriteByte(c)
		}
	}
	return token{}, 0, &Error{Column: column, Reason: "the string has no closing quote"}
}

func countWhile(text string, holds func(byte) bool) int {
	for i := range len(text) {
		if !holds(text[i]) {
			return i
		}
	}
	return len(text)
}

func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// isNamePart covers the characters of tag keys too.
func isNamePart(c byte) bool { return isLetter(c) || isDigit(c) || c == '.' || c == '-' || c == '~' }
