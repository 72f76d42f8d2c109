package recognition

import "bytes"

// maxFrame bounds a report without its elements, in bytes: the names of its members, its type, and some white space.
const maxFrame = 256

// frame is a report without its elements, as it was sent: from the first byte to the
// bracket that opens the array, and from the bracket that closes it to the last byte.
type frame struct{ before, after []byte }

// eachElement calls visit with every element of the array `artifacts` of a report, and returns the frame around them.
// It reports false if the body is none that it can cut; visit may have been called by then.
//
// It does not check that the body is valid. It promises two things instead:
//
//  1. Of a valid body, it finds the array of the outermost object named `artifacts`, and
//     exactly its elements.
//  2. Every body that it cuts, valid or not, consists of the frame and of the elements, in
//     the order of the calls, with one comma between two elements, with none elsewhere, and
//     with white space of JSON around them.
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
// object if the body is valid. Without escapes every second quotation mark closes a text, so that the name before the
// bracket is a name and no part of a text; with one brace, it is a name in the outermost object.
func opens(text []byte) bool {
	if len(text) > maxFrame || bytes.IndexByte(text, '\\') >= 0 ||
		bytes.Count(text, []byte("{")) != 1 || bytes.IndexByte(text, '}') >= 0 {
		return false
	}
	name, ok := bytes.CutSuffix(trimSpace(text[:len(text)-1]), []byte(":"))
	return ok && bytes.HasSuffix(trimSpace(name), []byte(`"artifacts"`))
}

// closes reports whether text, which begins with the bracket that closes the array, is short
// and has no other array: one of the same name would be decoded over the elements.
func closes(text []byte) bool {
	return len(text) <= maxFrame && bytes.IndexByte(text, '[') < 0
}

// objectEnd returns where the object ends that begins at i, or -1 if none begins there or it does not end. It takes
// brackets and braces for each other, which makes no difference in a valid body.
func objectEnd(body []byte, i int) int {
	if i >= len(body) || body[i] != '{' {
		return -1
	}
	for depth := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			if i = textEnd(body, i); i < 0 {
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

// textEnd returns where the quotation mark is that closes the text which one at i opens, or
// -1.
func textEnd(body []byte, i int) int {
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

// escaped reports whether what follows text is escaped by a backslash at its end.
func escaped(text []byte) bool {
	backslashes := 0
	for i := len(text) - 1; i >= 0 && text[i] == '\\'; i-- {
		backslashes++
	}
	return backslashes%2 == 1
}

// space is the white space of JSON.
const space = " \t\r\n"

func skipSpace(body []byte, i int) int {
	for i < len(body) && isSpace(body[i]) {
		i++
	}
	return i
}

func trimSpace(text []byte) []byte { return bytes.TrimRight(text, space) }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
