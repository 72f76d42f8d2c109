// Package redact hides API keys in logs and answers: text that looks like a key of Attestry or a signed token, and the
// credentials of the current request, however they are escaped.
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

// maxLayers bounds how often percent-encoding is undone, so that a hostile text costs little.
const maxLayers = 3

type secretsKey struct{}

// With returns a context in which secrets are hidden. Those too short for a key are ordinary words and are not.
func With(ctx context.Context, secrets ...string) context.Context {
	var forms []string
	for _, secret := range secrets {
		if len(secret) >= evidence.MinKeyLength {
			forms = append(forms, formsOf(secret)...)
		}
	}
	if len(forms) == 0 {
		return ctx
	}
	slices.Sort(forms)
	return context.WithValue(ctx, secretsKey{}, slices.Compact(forms))
}

// formsOf are a secret as it is, quoted by Go, as JSON, and with the blanks of a query. Text undoes percent-encoding.
func formsOf(secret string) []string {
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

// span is a part of a text, from its first byte to the one behind its last.
type span struct{ from, to int }

// hide replaces spans, which may overlap.
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

// decoded is a text after percent-decoding, possibly repeated.
type decoded struct {
	text string
	// at is where in the original each byte begins, and at the end its length; nil means the original itself.
	at []int
}

func (d *decoded) origin(i int) int {
	if d.at == nil {
		return i
	}
	return d.at[i]
}

// search adds the spans of the original with a key, or the beginning of a secret: long texts are cut before they are
// shown.
func (d *decoded) search(found []span, secrets []string) []span {
	for _, match := range keyPattern.FindAllStringIndex(d.text, -1) {
		found = append(found, span{d.origin(match[0]), d.origin(match[1])})
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
			found = append(found, span{d.origin(from), d.origin(end)})
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
	at := make([]int, 0, len(d.text)+1)
	changed := false
	for i := 0; i < len(d.text); {
		at = append(at, d.origin(i))
		if char, ok := escaped(d.text[i:]); ok {
			text.WriteByte(char)
			changed = true
			i += len("%00")
			continue
		}
		text.WriteByte(d.text[i])
		i++
	}
	return decoded{text: text.String(), at: append(at, d.origin(len(d.text)))}, changed
}

// escaped decodes the percent-encoded byte that a text begins with.
func escaped(text string) (byte, bool) {
	if len(text) < len("%00") || text[0] != '%' {
		return 0, false
	}
	char, err := strconv.ParseUint(text[1:3], 16, 8)
	return byte(char), err == nil
}
