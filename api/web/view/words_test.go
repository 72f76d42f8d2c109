package view

import (
	"strings"
	"testing"
)

func TestLongWordsMayBreakAtSeparators(t *testing.T) {
	hex := strings.Repeat("0123456789ab", 5) + "0123"
	for page, want := range map[string]string{
		"<p><bdi>registry.example.com/team/shop-api:1.2</bdi></p>":          "<p><bdi>registry.<wbr>example.<wbr>com/team/<wbr>shop-api:1.<wbr>2</bdi></p>",
		"<code title=\"a/b\">" + hex + "</code>":                            "<code title=\"a/b\">" + strings.Repeat("0123456789ab<wbr>", 5) + "0123</code>",
		"<bdi>short-name of some.text</bdi>":                                "<bdi>short-name of some.text</bdi>",
		"<bdi>" + strings.Repeat("x", 40) + "&lt;</bdi>":                    "<bdi>" + strings.Repeat("x", 40) + "&lt;</bdi>",
		"<textarea>registry.example.com/team/shop-api:1.2.3.4</textarea>":   "<textarea>registry.example.com/team/shop-api:1.2.3.4</textarea>",
		"<a href=\"registry.example.com/team/shop-api:1.2.3\"><bdi>x</bdi>": "<a href=\"registry.example.com/team/shop-api:1.2.3\"><bdi>x</bdi>",
		"bdi> no page": "bdi> no page",
	} {
		if got := string(breakWords([]byte(page))); got != want {
			t.Errorf("%s becomes\n%s, want\n%s", page, got, want)
		}
	}
}
