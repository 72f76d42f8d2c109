package jsontext

import "bytes"

// NestsDeeper reports whether JSON nests deeper than limit, by brackets outside strings.
func NestsDeeper(data []byte, limit int) bool {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = closingQuote(data, i)
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// closingQuote returns where the string ends that begins at i, or the end of data.
func closingQuote(data []byte, i int) int {
	for {
		length := bytes.IndexByte(data[i+1:], '"')
		if length < 0 {
			return len(data)
		}
		i += 1 + length
		if escapes := len(data[:i]) - len(bytes.TrimRight(data[:i], `\\`)); escapes%2 == 0 {
			return i
		}
	}
}
