package notify

import (
	"fmt"
	"strings"
	"unicode"
)

// zeroWidth is a zero-width space.
const zeroWidth = "\u200B"

// fallback makes one text of the whole message. If it is too long, details are left out.
func fallback(m message) string {
	lines := []string{fallbackText(m.Title)}
	if m.Description != "" {
		lines = append(lines, fallbackText(m.Description))
	}
	lines = append(lines, factLines(m.Facts, "%s: %s", withoutMentions)...)
	end := markdownEscape(withoutMentions(m.Time()+" · "+m.Org+" · action "+m.Action), maxFallback/10)
	if m.Link != "" {
		end = chatLink(m.Link, linkText) + "\n" + end
	}
	text := joinLines(lines, maxFallback/2)
	for i, detail := range m.Details {
		line := "• " + fallbackText(detail)
		if utf16Length(text+line+end)+50 > maxFallback {
			text += fmt.Sprintf("\n… and %d more", len(m.Details)-i)
			break
		}
		text += "\n" + line
	}
	return text + "\n" + end
}

// joinLines joins the first line and those of the others that fit in a number of characters.
func joinLines(lines []string, most int) string {
	text := lines[0]
	for _, line := range lines[1:] {
		if utf16Length(text)+1+utf16Length(line) <= most {
			text += "\n" + line
		}
	}
	return text
}

func fallbackText(text string) string { return markdownEscape(withoutMentions(text), maxFact) }

// withoutMentions breaks mentions, such as @channel and @everyone, and Markdown links, which can hide their target.
// Other chat services than Slack recognize both in plain text.
func withoutMentions(text string) string {
	text = strings.ReplaceAll(text, "](", "]"+zeroWidth+"(")
	var b strings.Builder
	before := ' '
	for _, r := range text {
		b.WriteRune(r)
		if r == '@' && !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			b.WriteString(zeroWidth)
		}
		before = r
	}
	return b.String()
}
