package view

import (
	"cmp"
	"encoding/json"
	"html/template"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"attestry/evidence"
	"attestry/links"
)

// Pages returns paths of pages: links without scheme and host.
var Pages = links.Links{}

// RowsPerPage is the number of rows on a page of a list.
const RowsPerPage = 50

// maxText bounds a text of a client on a page, in bytes of HTML.
const maxText = 64 << 10

// functions are the functions of templates.
func functions(clock evidence.Clock) template.FuncMap {
	return template.FuncMap{
		"moment":     func(seconds any) moment { return newMoment(seconds, clock()) },
		"utc":        UTC,
		"short":      short,
		"external":   external,
		"commit":     shortCommit,
		"count":      humanize.Comma,
		"plural":     Plural,
		"state":      newBadge,
		"page":       func() links.Links { return Pages },
		"cut":        func(text string) string { return Cut(text, maxText) },
		"brief":      func(text string) string { return Cut(text, maxBrief) },
		"tags":       First[string],
		"excerpt":    Excerpt,
		"isCut":      func(text string) bool { return Cut(text, maxText) != text },
		"known":      evidence.ZeroIfNil[string],
		"userText":   userText,
		"excess":     func(number, limit int) int { return max(0, number-limit) },
		"duration":   duration,
		"policyPage": policyPage,
		"label":      label,
		"has":        slices.Contains[[]string],
		"size":       func(bytes *int64) string { return humanize.IBytes(uint64(*bytes)) },
	}
}

// moment is a time for pages: Exact in UTC (RFC 3339), and Relative to now.
type moment struct{ Exact, Relative string }

// newMoment takes Unix seconds, as a number or a pointer to one. It is empty for 0 and nil.
func newMoment(value any, now time.Time) moment {
	seconds := 0.0
	switch value := value.(type) {
	case float64:
		seconds = value
	case *float64:
		if value != nil {
			seconds = *value
		}
	case int64:
		seconds = float64(value)
	}
	if seconds == 0 {
		return moment{}
	}
	at := evidence.Time(seconds)
	return moment{Exact: at.Format(time.RFC3339), Relative: humanize.RelTime(at, now, "ago", "from now")}
}

// UTC formats Unix seconds in UTC, in a layout of package time.
func UTC(seconds float64, layout string) string { return evidence.Time(seconds).Format(layout) }

// shownDigits is the number of shown digits of a fingerprint or commit.
const shownDigits = 12

func short(fingerprint string) string { return fingerprint[:min(len(fingerprint), shownDigits)] }

// shortCommit is the beginning of a commit, "" for an unknown one, whose digits are all 0.
func shortCommit(commit string) string {
	if strings.Trim(commit, "0") == "" {
		return ""
	}
	return short(commit)
}

// Plural is a number with a noun in singular or plural.
func Plural(n int, noun string) string { return english.Plural(n, noun, "") }

// units are the units of durations, with their seconds and the number of seconds from which they are used.
var units = []struct {
	name          string
	seconds, from float64
}{{"days", 86400, 2 * 86400}, {"h", 3600, 3600}, {"min", 60, 60}}

// duration is a number of seconds in words, "" if it is not known.
func duration(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	for _, unit := range units {
		if math.Abs(*seconds) >= unit.from {
			return strconv.FormatFloat(*seconds/unit.seconds, 'f', 1, 64) + " " + unit.name
		}
	}
	return strconv.FormatFloat(*seconds, 'f', 0, 64) + " s"
}

// label is the name of a JSON member in words.
func label(name string) string {
	words := strings.ReplaceAll(strings.TrimSuffix(name, "_timestamp"), "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// policyPage is the page of the policy with a URL of the API, "" for any other URL.
func policyPage(address string) string {
	_, names, _ := strings.Cut(address, links.Prefix+"/policies/")
	org, name, _ := strings.Cut(names, "/")
	if org == "" || name == "" {
		return ""
	}
	return "/" + org + "/policies/" + name
}

// external returns the HTML of a client's link. It is only the text if the address is too long, or not http or https.
func external(address, text string) template.HTML {
	shown := template.HTMLEscapeString(Excerpt(text))
	parsed, err := url.Parse(address)
	if err != nil || len(address) > maxAddress || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return template.HTML(shown)
	}
	return template.HTML(`<a href="` + template.HTMLEscapeString(parsed.String()) + `" rel="noopener noreferrer">` + shown + `</a>`)
}

const (
	// maxExcerpt bounds an excerpt of a text, and maxBrief one in a row of a table, in bytes of HTML.
	maxExcerpt = 1 << 10
	maxBrief   = 256
	// maxAddress bounds a URL of a client that a page links to, in bytes.
	maxAddress = 1 << 10
)

// Named is a value with its name.
type Named[V any] struct {
	Name  string
	Value V
}

// First returns the first values by name, as clients may send any number of them.
func First[V any](values map[string]V, limit int) []Named[V] {
	names := slices.Sorted(maps.Keys(values))
	first := make([]Named[V], 0, min(len(names), limit))
	for _, name := range names[:min(len(names), limit)] {
		first = append(first, Named[V]{Name: name, Value: values[name]})
	}
	return first
}

// Cut truncates a text of more than limit bytes of HTML, in which a quotation mark takes five, and adds an ellipsis.
func Cut(text string, limit int) string {
	size := 0
	for i, char := range text {
		if size += len(template.HTMLEscapeString(string(char))); size > limit {
			return text[:i] + "…"
		}
	}
	return text
}

// Excerpt is Cut for a text that is shown among others.
func Excerpt(text string) string { return Cut(text, maxExcerpt) }

// userText is a client's user data as text, "" for none.
func userText(data json.RawMessage) string {
	if text := string(data); text != "{}" && text != "null" {
		return text
	}
	return ""
}

// badge is a state on a page: a color by the CSS class, and a text.
type badge struct{ Class, Text string }

// newBadge takes a state of the API: a verdict, which may be nil, or a state of a trail or artifact.
func newBadge(state any) badge {
	switch state := state.(type) {
	case *bool:
		if state == nil {
			return badge{"unknown", "not judged"}
		}
		return newBadge(*state)
	case bool:
		return badges[evidence.StatusOf(state)]
	case string:
		return cmp.Or(badges[evidence.Status(state)], badge{"unknown", strings.ToLower(state)})
	case evidence.Status:
		return newBadge(string(state))
	}
	return badge{"unknown", "unknown"}
}

var badges = map[evidence.Status]badge{
	evidence.Compliant: {"good", "compliant"}, evidence.NonCompliant: {"bad", "not compliant"},
	evidence.Incomplete: {"open", "incomplete"}, evidence.Missing: {"open", "missing"},
}
