package validation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxShown is how many characters of a wrong value an answer shows.
const MaxShown = 200

// showInput shows a value as pydantic does: strings bare, everything within
// lists and dictionaries as Python writes it.
func showInput(value any) string {
	if text, ok := value.(string); ok {
		return Cut(text)
	}
	var b strings.Builder
	writeRepr(&b, value)
	return Cut(b.String())
}

// writeRepr writes value as Python would, and stops soon after maxShown
// characters are full.
func writeRepr(b *strings.Builder, value any) {
	if b.Len() > utf8.UTFMax*MaxShown {
		return
	}
	switch value := value.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{false: "False", true: "True"}[value])
	case json.Number:
		b.WriteString(value.String())
	case string:
		writeQuoted(b, value)
	case []any:
		writeList(b, value)
	case map[string]any:
		writeDictionary(b, value)
	default:
		fmt.Fprint(b, value)
	}
}

func writeQuoted(b *strings.Builder, text string) {
	quote := "'"
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = `"`
	}
	escaped := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	text = escaped.Replace(Cut(text))
	if quote == "'" {
		text = strings.ReplaceAll(text, "'", `\'`)
	}
	b.WriteString(quote + text + quote)
}

func writeList(b *strings.Builder, items []any) {
	b.WriteByte('[')
	for i, item := range items {
		if b.Len() > utf8.UTFMax*MaxShown {
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		writeRepr(b, item)
	}
	b.WriteByte(']')
}

func writeDictionary(b *strings.Builder, members map[string]any) {
	b.WriteByte('{')
	for i, name := range sortedKeys(members) {
		if b.Len() > utf8.UTFMax*MaxShown {
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		writeQuoted(b, name)
		b.WriteString(": ")
		writeRepr(b, members[name])
	}
	b.WriteByte('}')
}

// ShowChoices lists the values of an enum: 'a', 'b' or 'c'.
func ShowChoices(values []any) string {
	shown := make([]string, len(values))
	for i, value := range values {
		var b strings.Builder
		writeRepr(&b, value)
		shown[i] = b.String()
	}
	if len(shown) < 2 {
		return strings.Join(shown, "")
	}
	last := len(shown) - 1
	return strings.Join(shown[:last], ", ") + " or " + shown[last]
}

// Cut shortens text to maxShown characters and makes it valid UTF-8.
func Cut(text string) string {
	seen := 0
	for i := range text {
		if seen == MaxShown {
			return strings.ToValidUTF8(text[:i], "\uFFFD") + "..."
		}
		seen++
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func sortedKeys(members map[string]any) []string { return slices.Sorted(maps.Keys(members)) }
