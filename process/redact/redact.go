// Package redact hides API keys in logs and responses: text that looks like a key of Attestry or a signed token, and
// the credentials of the current request, in all escaped forms.
package redact

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"attestry/evidence"
)

// hidden replaces a key.
var hidden = evidence.Secret("").String()

var keyPattern = regexp.MustCompile(evidence.APIKeyPattern + "|" + evidence.SignedTokenPattern)

// maxLayers is the number of layers of percent-encoding that are decoded. It bounds the cost of a hostile text.
const maxLayers = 3

type secretsKey struct{}

// With returns a context in which Text hides the secrets, except those too short for a key: they may be ordinary words.
func With(ctx context.Context, secrets ...string) context.Context {
	var forms []string
	for _, secret := range secrets {
		if len(secret) >= evidence.MinKeyLength {
			forms = append(forms, escapedForms(secret)...)
		}
	}
	if len(forms) == 0 {
		return ctx
	}
	slices.Sort(forms)
	return context.WithValue(ctx, secretsKey{}, slices.Compact(forms))
}

// escapedForms returns a secret unchanged, quoted by Go, as JSON, and with + for blanks. Text decodes percent-encoding.
func escapedForms(secret string) []string {
	quoted := strconv.Quote(secret)
	forms := []string{secret, quoted[1 : len(quoted)-1], strings.ReplaceAll(secret, " ", "+")}
	if encoded, err := json.Marshal(secret); err == nil {
		forms = append(forms, string(encoded[1:len(encoded)-1]))
	}
	return forms
}

// Text returns text with all keys hidden.
func Text(ctx context.Context, text string) string {
	secrets, _ := ctx.Value(secretsKey{}).([]string)
	level, changed := decoded{text: text}, true
	found := level.search(nil, secrets)
	for range maxLayers {
		if level, changed = level.unescape(); !changed {
			break
		}
		found = level.search(found, secrets)
	}
	if len(found) == 0 {
		return text
	}
	return hide(text, found)
}

// span is the part text[from:to] of a text.
type span struct{ from, to int }

// hide replaces spans of a text. They may overlap.
func hide(text string, spans []span) string {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	end := 0
	for _, s := range spans {
		if s.from >= end {
			b.WriteString(text[end:s.from])
			b.WriteString(hidden)
		}
		end = max(end, s.to)
	}
	b.WriteString(text[end:])
	return b.String()
}

// decoded is a text after zero or more rounds of percent-decoding.
type decoded struct {
	text string
	// offsets has the offset of each byte in the original, and then its length; nil means the original itself.
	offsets []int
}

func (d *decoded) original(i int) int {
	if d.offsets == nil {
		return i
	}
	return d.offsets[i]
}

// search adds the spans of the original with a key or a secret. Its beginning suffices, as long texts are truncated.
func (d *decoded) search(found []span, secrets []string) []span {
	for _, match := range keyPattern.FindAllStringIndex(d.text, -1) {
		found = append(found, span{d.original(match[0]), d.original(match[1])})
	}
	for _, secret := range secrets {
		begin := secret[:evidence.MinKeyLength]
		for from := 0; ; {
			i := strings.Index(d.text[from:], begin)
			if i < 0 {
				break
			}
			from += i
			end := from + commonPrefix(d.text[from:], secret)
			found = append(found, span{d.original(from), d.original(end)})
			from = end
		}
	}
	return found
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// unescape decodes one layer of percent-encoding, and reports whether there was any.
func (d *decoded) unescape() (decoded, bool) {
	if !strings.Contains(d.text, "%") {
		return decoded{}, false
	}
	var text strings.Builder
	offsets := make([]int, 0, len(d.text)+1)
	changed := false
	for i := 0; i < len(d.text); {
		offsets = append(offsets, d.original(i))
		if char, ok := escaped(d.text[i:]); ok {
			text.WriteByte(char)
			changed = true
			i += len("%00")
			continue
		}
		text.WriteByte(d.text[i])
		i++
	}
	return decoded{text: text.String(), offsets: append(offsets, d.original(len(d.text)))}, changed
}

// escaped decodes a percent-encoded byte at the beginning of a text.
func escaped(text string) (byte, bool) {
	if len(text) < len("%00") || text[0] != '%' {
		return 0, false
	}
	char, err := strconv.ParseUint(text[1:3], 16, 8)
	return byte(char), err == nil
}
