package evidence

// Text is a text that may be nil, which stands for "".
func Text(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// Equal reports whether two values, each of which may be nil, are equal.
func Equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
