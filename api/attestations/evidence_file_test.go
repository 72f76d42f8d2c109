package attestations

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFileNamesAreCleaned(t *testing.T) {
	for sent, want := range map[string]string{
		"report.tgz":            "report.tgz",
		"dir/report.tgz":        "report.tgz",
		`C:\dir\report.tgz`:     "report.tgz",
		"../..":                 "evidence",
		"":                      "evidence",
		"dir/":                  "evidence",
		" . ":                   "evidence",
		".hidden":               ".hidden",
		"a\x00\r\n\"b":          "a____b",
		"\xff\xfe":              "__",
		"right\u202eleft":       "right_left",
		"Übersicht 2026 (1).md": "Übersicht 2026 (1).md",
	} {
		if got := cleanFilename(sent); got != want {
			t.Errorf("%q becomes %q, want %q", sent, got, want)
		}
	}
	long := cleanFilename(strings.Repeat("ü", 5000) + ".tgz")
	if len(long) > maxFilename || !strings.HasSuffix(long, "ü.tgz") || !utf8.ValidString(long) {
		t.Errorf("a long name becomes %q", long)
	}
}

func TestContentTypesAreCleaned(t *testing.T) {
	for sent, want := range map[string]string{
		"":                               "application/octet-stream",
		"text/html":                      "text/html",
		"Text/HTML; Charset=UTF-8":       "text/html; charset=UTF-8",
		"text":                           "application/octet-stream",
		"text/html; charset":             "application/octet-stream",
		"a/b; c=\"\r\nSet-Cookie: x=y\"": "application/octet-stream",
		"a/" + strings.Repeat("b", 300):  "application/octet-stream",
	} {
		if got := cleanContentType(sent); got != want {
			t.Errorf("%q becomes %q, want %q", sent, got, want)
		}
	}
}
