package validation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"

	"attestry/evidence"
)

// MaxShown is how many characters of an invalid value an answer shows.
const MaxShown = 200

// showInput formats a value as pydantic does: a string without quotes, other values as Python's repr.
func showInput(value any) string {
	if text, ok := value.(string); ok {
		return Cut(text)
	}
	return Cut(repr(value))
}

// repr is Python's repr of a value, up to somewhat more than MaxShown characters.
func repr(value any) string {
	var b strings.Builder
	writeRepr(&b, value)
	return b.String()
}

// writeRepr writes Python's repr of value, and stops soon after MaxShown characters.
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
		writeAll(b, "[]", len(value), func(i int) { writeRepr(b, value[i]) })
	case map[string]any:
		names := slices.Sorted(maps.Keys(value))
		writeAll(b, "{}", len(names), func(i int) {
			writeQuoted(b, names[i])
			b.WriteString(": ")
			writeRepr(b, value[names[i]])
		})
	default:
		fmt.Fprint(b, value)
	}
}

var escaped = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

func writeQuoted(b *strings.Builder, text string) {
	quote := "'"
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = `"`
	}
	text = escaped.Replace(Cut(text))
	if quote == "'" {
		text = strings.ReplaceAll(text, "'", `\'`)
	}
	b.WriteString(quote + text + quote)
}

// writeAll writes the members of a list or a dictionary between two brackets.
func writeAll(b *strings.Builder, brackets string, number int, write func(i int)) {
	b.WriteByte(brackets[0])
	for i := 0; i < number && b.Len() <= utf8.UTFMax*MaxShown; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		write(i)
	}
	b.WriteByte(brackets[1])
}

// ShowChoices lists the values of an enum: 'a', 'b' or 'c'.
func ShowChoices(values []any) string { return english.WordSeries(evidence.Map(values, repr), "or") }

// Cut truncates text to MaxShown characters and makes it valid UTF-8.
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
