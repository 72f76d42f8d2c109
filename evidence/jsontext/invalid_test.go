package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"attestry/evidence/jsontext"
)

func TestInvalidTextIsFoundWhereDecodersWouldReplaceIt(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"nothing":                     {``, -1},
		"ASCII":                       {`"a\nb\u0041"`, -1},
		"letters beyond ASCII":        {`"Prüfung 🚀"`, -1},
		"an escaped letter":           {`"\u00fc\uD7FF\uE000"`, -1},
		"an escaped pair":             {`"\ud83d\ude80"`, -1},
		"a pair in capitals":          {`"\uD83D\uDE80"`, -1},
		"U+FFFD itself":               {`"` + "\uFFFD" + `\ufffd"`, -1},
		"a byte that is not UTF-8":    {"\"ab\xff\"", 3},
		"an overlong form":            {"\"\xc0\xaf\"", 1},
		"a surrogate in UTF-8":        {"\"\xed\xa0\x80\"", 1},
		"a sequence that breaks off":  {"\"\xe2\x82", 1},
		"a lone high surrogate":       {`"a\ud800b"`, 2},
		"a lone low surrogate":        {`"\udc00"`, 1},
		"two high surrogates":         {`"\ud83d\ud83d\ude80"`, 1},
		"halves in the wrong order":   {`"\ude80\ud83d"`, 1},
		"halves that are apart":       {`"\ud83d \ude80"`, 1},
		"a surrogate at the very end": {`"\ud83d`, 1},
		"a half behind a backslash":   {`"\\\ud800"`, 3},
		"an escaped backslash":        {`"\\ud800"`, -1},
		"digits that are none":        {`"\ud8"`, -1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := jsontext.Invalid([]byte(c.text)); got != c.want {
				t.Errorf("found at %d, want %d", got, c.want)
			}
		})
	}
}

func FuzzInvalid(f *testing.F) {
	f.Add([]byte(`"\ud83d\ude80"`))
	f.Add([]byte(`"\ud800\udc"`))
	f.Add([]byte("\"\xff\\u00\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		at := jsontext.Invalid(data)
		if at >= len(data) {
			t.Fatalf("%q: found at %d", data, at)
		}
		var text string
		if json.Unmarshal(data, &text) != nil {
			return
		}
		// If there are more U+FFFD than were sent, the decoder has replaced something.
		sent := strings.Count(string(data), "\uFFFD") + strings.Count(strings.ToLower(string(data)), `\ufffd`)
		if replaced := strings.Count(text, "\uFFFD") > sent; replaced && at < 0 {
			t.Errorf("%q is decoded as %q, and nothing was found", data, text)
		}
		if at < 0 && !utf8.Valid(data) {
			t.Errorf("%q is not UTF-8, and nothing was found", data)
		}
	})
}
