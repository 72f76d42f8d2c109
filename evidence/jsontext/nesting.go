package jsontext

// NestsDeeper reports whether JSON nests deeper than limit. It looks at brackets
// outside strings only, so that it can be asked before anything recurses.
func NestsDeeper(data []byte, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
