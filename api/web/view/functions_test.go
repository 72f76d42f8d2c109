package view

import (
	"strings"
	"testing"
)

func TestTextIsCutByTheHTMLThatItTakes(t *testing.T) {
	for _, test := range []struct {
		text, want string
		limit      int
	}{
		{"abc", "abc", 3},
		{"abcd", "abc…", 3},
		{`""`, `"…`, 9}, // each is &#34;
		{"éé", "é…", 3},
		{"", "", 0},
	} {
		if got := Cut(test.text, test.limit); got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}

func TestOnlyAddressesOfTheWebAreLinks(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.com/?a=1&b=2": `<a href="https://example.com/?a=1&amp;b=2" rel="noopener noreferrer">&lt;b&gt;</a>`,
		"javascript:alert(1)":          "&lt;b&gt;",
		"data:text/html,x":             "&lt;b&gt;",
		"//example.com":                "&lt;b&gt;",
		"https://example.com/" + strings.Repeat("x", maxAddress): "&lt;b&gt;",
	} {
		if got := string(external(address, "<b>")); got != want {
			t.Errorf("%.40s: %s", address, got)
		}
	}
}
