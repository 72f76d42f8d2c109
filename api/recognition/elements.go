package recognition

import "bytes"

// maxFrame bounds each part of a frame, in bytes: the names of members, the type, and some white space.
const maxFrame = 256

// frame is the raw report without its elements: up to the array's opening bracket, and from the closing one on.
type frame struct{ before, after []byte }

// eachElement calls visit with every element of the array `artifacts` of a report, and returns the frame around them.
// It reports false if it cannot cut the body; visit may have been called before.
//
// It does not validate the body. It guarantees two properties:
//
//  1. In a valid body, it finds the array `artifacts` of the outermost object, and exactly its elements.
//  2. Every body that it cuts, valid or not, consists of the frame and the elements, in the order of the calls, with one
//     comma between two elements, none elsewhere, and JSON's white space around them.
func eachElement(body []byte, visit func(element []byte)) (frame, bool) {
	begin := bytes.IndexByte(body, '[') + 1
	if begin == 0 || !opens(body[:begin]) {
		return frame{}, false
	}
	i := skipSpace(body, begin)
	for first := true; i < len(body) && body[i] != ']'; first = false {
		if !first {
			if body[i] != ',' {
				return frame{}, false
			}
			i = skipSpace(body, i+1)
		}
		end := objectEnd(body, i)
		if end < 0 {
			return frame{}, false
		}
		visit(body[i:end])
		i = skipSpace(body, end)
	}
	if i == len(body) || !closes(body[i:]) {
		return frame{}, false
	}
	return frame{body[:begin], body[i:]}, true
}

// opens reports whether text, which ends with the first bracket of a body, opens the array `artifacts` of the outermost
// object if the body is valid. Without escapes every second quotation mark closes a string, so that the name before the
// bracket is not part of a string. With only one brace, it is a name in the outermost object.
func opens(text []byte) bool {
	if len(text) > maxFrame || bytes.IndexByte(text, '\\') >= 0 ||
		bytes.Count(text, []byte("{")) != 1 || bytes.IndexByte(text, '}') >= 0 {
		return false
	}
	name, ok := bytes.CutSuffix(trimSpace(text[:len(text)-1]), []byte(":"))
	return ok && bytes.HasSuffix(trimSpace(name), []byte(`"artifacts"`))
}

// closes reports whether text, which begins with the closing bracket of the array, is short and has no other array. One
// with the same name would replace the elements.
func closes(text []byte) bool {
	return len(text) <= maxFrame && bytes.IndexByte(text, '[') < 0
}

// objectEnd returns the end of the object that begins at i, or -1 if there is none. It does not distinguish brackets
// from braces, which makes no difference in a valid body.
func objectEnd(body []byte, i int) int {
	if i >= len(body) || body[i] != '{' {
		return -1
	}
	for depth := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			if i = stringEnd(body, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// stringEnd returns the index of the quotation mark that closes the string opened at i, or -1.
func stringEnd(body []byte, i int) int {
	begin := i
	for {
		length := bytes.IndexByte(body[i+1:], '"')
		if length < 0 {
			return -1
		}
		i += 1 + length
		if body[i-1] != '\\' || !escaped(body[begin:i]) {
			return i
		}
	}
}

// escaped reports whether a backslash at the end of text escapes the next character.
func escaped(text []byte) bool {
	backslashes := 0
	for i := len(text) - 1; i >= 0 && text[i] == '\\'; i-- {
		backslashes++
	}
	return backslashes%2 == 1
}

func skipSpace(body []byte, i int) int {
	for i < len(body) && isSpace(body[i]) {
		i++
	}
	return i
}

func trimSpace(text []byte) []byte { return bytes.TrimRight(text, " \t\r\n") }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
