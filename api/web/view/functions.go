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

// Pages are the addresses of pages on this site, without scheme and host.
var Pages = links.Links{}

// RowsPerPage is how many entries of a list a page has.
const RowsPerPage = 50

// maxText is how much of a text that a client has sent a page shows, in bytes of HTML.
const maxText = 64 << 10

// functions are what templates can call.
func functions(clock evidence.Clock) template.FuncMap {
	return template.FuncMap{
		"moment":     func(seconds any) moment { return newMoment(seconds, clock()) },
		"utc":        utc,
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
		"known":      evidence.Text,
		"userText":   userText,
		"excess":     func(number, limit int) int { return max(0, number-limit) },
		"duration":   duration,
		"policyPage": policyPage,
		"label":      label,
		"size":       func(bytes *int64) string { return humanize.IBytes(uint64(*bytes)) },
	}
}

// moment is a time as pages show it.
type moment struct {
	// Exact is in UTC, as RFC 3339 has it. Relative says how long ago it is.
	Exact, Relative string
}

// newMoment takes Unix seconds, as number or as a pointer to one. It is empty for 0 and nil.
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
	at := time.UnixMilli(int64(seconds * 1000)).UTC()
	return moment{Exact: at.Format(time.RFC3339), Relative: humanize.RelTime(at, now, "ago", "from now")}
}

// utc is a time in UTC, from Unix seconds, in a layout of package time.
func utc(seconds float64, layout string) string {
	return time.UnixMilli(int64(seconds * 1000)).UTC().Format(layout)
}

// shownDigits is how much of a fingerprint or commit is shown.
const shownDigits = 12

// short is the beginning of a fingerprint.
func short(fingerprint string) string { return fingerprint[:min(len(fingerprint), shownDigits)] }

// shortCommit is the beginning of a commit, "" for one that is not known.
func shortCommit(commit string) string {
	if strings.Trim(commit, "0") == "" {
		return ""
	}
	return short(commit)
}

// Plural is a number with a noun.
func Plural(n int, noun string) string { return english.Plural(n, noun, "") }

// units are those of durations, with how many seconds they have and from how many on they are used.
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

// label is the name of a member in words.
func label(name string) string {
	words := strings.ReplaceAll(strings.TrimSuffix(name, "_timestamp"), "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// policyPage is the page of the policy that has an address in the API, "" for any other address.
func policyPage(address string) string {
	_, names, _ := strings.Cut(address, links.Prefix+"/policies/")
	org, name, _ := strings.Cut(names, "/")
	if org == "" || name == "" {
		return ""
	}
	return "/" + org + "/policies/" + name
}

// external is a link that a client has sent, as text unless it is one of the web.
func external(address, text string) template.HTML {
	shown := template.HTMLEscapeString(Excerpt(text))
	parsed, err := url.Parse(address)
	if err != nil || len(address) > maxAddress || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return template.HTML(shown)
	}
	return template.HTML(`<a href="` + template.HTMLEscapeString(parsed.String()) + `" rel="noopener noreferrer">` + shown + `</a>`)
}

const (
	// maxExcerpt is how much of a text is shown beside others, and maxBrief in a row of a table, in bytes of HTML.
	maxExcerpt = 1 << 10
	maxBrief   = 256
	// maxAddress is the longest address that a client has sent and a page links to.
	maxAddress = 1 << 10
)

// Named is a value with its name.
type Named[V any] struct {
	Name  string
	Value V
}

// First are the first values by name. Clients may send any number of them.
func First[V any](values map[string]V, limit int) []Named[V] {
	names := slices.Sorted(maps.Keys(values))
	first := make([]Named[V], 0, min(len(names), limit))
	for _, name := range names[:min(len(names), limit)] {
		first = append(first, Named[V]{Name: name, Value: values[name]})
	}
	return first
}

// Cut is the beginning of a text, with an ellipsis if something is left out. It takes at most limit
// bytes of HTML, in which a quotation mark takes five.
func Cut(text string, limit int) string {
	size := 0
	for i, char := range text {
		if size += len(template.HTMLEscapeString(string(char))); size > limit {
			return text[:i] + "…"
		}
	}
	return text
}

// Excerpt is the beginning of a text that is shown beside others.
func Excerpt(text string) string { return Cut(text, maxExcerpt) }

// userText is data that a client has sent along as text, "" for none.
func userText(data json.RawMessage) string {
	if text := string(data); text != "{}" && text != "null" {
		return text
	}
	return ""
}

// badge is a state as pages show it: never by its color alone.
type badge struct{ Class, Text string }

// newBadge takes a state of the API: a verdict that may be unknown, or one of the words for trails and artifacts.
func newBadge(state any) badge {
	switch state := state.(type) {
	case *bool:
		if state == nil {
			return badge{"unknown", "not judged"}
		}
		return newBadge(*state)
	case bool:
		if state {
			return badges[evidence.Compliant]
		}
		return badges[evidence.NonCompliant]
	case string:
		return cmp.Or(badges[evidence.Status(state)], badge{"unknown", strings.ToLower(state)})
	case evidence.Status:
		return newBadge(string(state))
	}
	return badge{"unknown", "unknown"}
}

// badges are the states of trails and artifacts.
var badges = map[evidence.Status]badge{
	evidence.Compliant: {"good", "compliant"}, evidence.NonCompliant: {"bad", "not compliant"},
	evidence.Incomplete: {"open", "incomplete"}, evidence.Missing: {"open", "missing"},
}
