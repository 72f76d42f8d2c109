package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf16"

	"attestry/evidence"
	"attestry/evidence/notification"
)

// The limits of Slack, in characters after escaping.
const (
	maxHeader  = 150
	maxSection = 3000
	// maxFallback bounds the text of a message.
	maxFallback = 4000
	// maxFact bounds a value in a line, so that each line fits in a section.
	maxFact = 1000
)

const linkText = "Open in Attestry"

// chatMessage is the body of Slack's incoming webhooks. Text has the whole message, for services without blocks.
type chatMessage struct {
	Text   string      `json:"text"`
	Blocks []chatBlock `json:"blocks"`
}

// chatBlock is a header, a section with a text, or a context with elements.
type chatBlock struct {
	Type     string     `json:"type"`
	Text     *chatText  `json:"text,omitempty"`
	Elements []chatText `json:"elements,omitempty"`
}

type chatText struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Verbatim disables Slack's automatic links and mentions.
	Verbatim bool `json:"verbatim,omitempty"`
}

func markdown(text string) chatText { return chatText{Type: "mrkdwn", Text: text, Verbatim: true} }

func (s *Sender) callChat(ctx context.Context, target *notification.Target, delivery *notification.Delivery) outcome {
	body, _ := json.Marshal(chatMessageOf(&delivery.Notice)) // texts
	return s.post(ctx, target.Webhook, body, http.Header{})
}

func chatMessageOf(n *notification.Notice) chatMessage {
	m := messageOf(n)
	blocks := []chatBlock{{Type: "header", Text: &chatText{Type: "plain_text", Text: chatEscape(m.Title, maxHeader)}}}
	if m.Description != "" {
		blocks = append(blocks, sections([]string{markdownEscape(m.Description, maxSection)})...)
	}
	blocks = append(blocks, sections(factLines(m.Facts, "*%s:* %s", func(text string) string { return text }))...)
	details := evidence.Map(m.Details, func(detail string) string { return "• " + markdownEscape(detail, maxSection-10) })
	blocks = append(blocks, sections(details)...)
	if m.Link != "" {
		blocks = append(blocks, sections([]string{chatLink(m.Link, linkText)})...)
	}
	context := chatBlock{Type: "context", Elements: []chatText{markdown(chatContext(m))}}
	return chatMessage{Text: fallback(m), Blocks: append(blocks, context)}
}

// sections makes as few sections of lines as possible. Each line must fit in a section.
func sections(lines []string) []chatBlock {
	var blocks []chatBlock
	for _, line := range lines {
		if i := len(blocks) - 1; i >= 0 && utf16Length(blocks[i].Text.Text)+1+utf16Length(line) <= maxSection {
			blocks[i].Text.Text += "\n" + line
			continue
		}
		blocks = append(blocks, chatBlock{Type: "section", Text: new(markdown(line))})
	}
	return blocks
}

// factLines makes a line of each fact, in a format of label and value. Values are cleaned, then escaped.
func factLines(facts []fact, format string, clean func(string) string) []string {
	var lines []string
	for _, f := range facts {
		value := markdownEscape(clean(f.Value), maxFact)
		if f.Link != "" {
			value = chatLink(f.Link, clean(f.Value))
		}
		lines = append(lines, fmt.Sprintf(format, f.Label, value))
	}
	return lines
}

// chatContext has the organization and the action of a message, and its time in the reader's time zone.
func chatContext(m message) string {
	time := fmt.Sprintf("<!date^%d^{date_short_pretty} {time_secs}|%s>", m.At.Unix(), m.Time())
	return fmt.Sprintf("%s · action %s · %s", markdownEscape(m.Org, maxFact), markdownEscape(m.Action, maxFact), time)
}

// chatLink makes a link in Slack's format. It shortens only the text, as a truncated URL is no link.
func chatLink(link, text string) string {
	return "<" + strings.ReplaceAll(link, "&", "&amp;") + "|" + markdownEscape(strings.ReplaceAll(text, "|", "¦"), maxFact) + ">"
}

func markdownEscape(text string, most int) string { return chatEscape(withoutMarks(text), most) }

// chatEscape escapes the characters of Slack's syntax, which includes mentions such as <!channel>, and shortens the
// result to a number of UTF-16 code units. It does not cut within an escape.
func chatEscape(text string, most int) string {
	escaped := chatEscaper.Replace(text)
	if utf16Length(escaped) <= most {
		return escaped
	}
	var b strings.Builder
	left := most - 1 // for the ellipsis
	for _, r := range text {
		next := chatEscaper.Replace(string(r))
		if left -= utf16Length(next); left < 0 {
			break
		}
		b.WriteString(next)
	}
	return b.String() + "…"
}

var chatEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func utf16Length(text string) int { return len(utf16.Encode([]rune(text))) }
