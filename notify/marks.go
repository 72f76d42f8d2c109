package notify

import "strings"

// withoutMarks replaces the marks of bold, italic, struck and preformatted text by their full-width
// forms. Slack has no escape for them, and characters without width keep neither Slack nor Markdown
// from formatting. An underscore within a word stays, as it formats nothing there.
func withoutMarks(text string) string {
	wide := strings.NewReplacer("*", "\uFF0A", "_", "\uFF3F", "~", "\uFF5E", "`", "\uFF40")
	var b strings.Builder
	for i := range len(text) {
		if text[i] == '_' && i > 0 && i+1 < len(text) && isWord(text[i-1]) && isWord(text[i+1]) {
			b.WriteByte('_')
			continue
		}
		b.WriteString(wide.Replace(text[i : i+1]))
	}
	return b.String()
}

func isWord(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' }
