package view

import (
	"strings"
	"testing"
)

func TestTextIsCutByItsLengthInHTML(t *testing.T) {
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

func TestDurationsAreReadable(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0 s", 45: "45 s", 90: "1.5 min", 7200: "2.0 h", 86400: "24.0 h", 1e6: "11.6 days", -7200: "-2.0 h",
	} {
		if got := duration(&seconds); got != want {
			t.Errorf("%v seconds are %q, want %q", seconds, got, want)
		}
	}
	if got := duration(nil); got != "" {
		t.Errorf("an unknown duration is %q", got)
	}
}

func TestAddressesOfPoliciesBecomePages(t *testing.T) {
	for address, want := range map[string]string{
		"https://attestry.example.com/api/v2/policies/acme/prod%2F1": "/acme/policies/prod%2F1",
		"javascript:alert(1)": "", "": "", "https://example.com/api/v2/policies/": "", "https://example.com/api/v2/policies//x": "",
	} {
		if got := policyPage(address); got != want {
			t.Errorf("%s has the page %q, want %q", address, got, want)
		}
	}
}
