package validation

import (
	"net/url"
	"strings"
)

const (
	unescapableText = "Input should be a valid string, unable to undo its escapes"
	semicolonText   = "Input should be a valid string, with ';' sent as %3B"
)

// ParseQuery returns the parameters of a query. One that cannot be read is a finding: it
// must not be taken for one that was not sent. That includes a `;`, which some parsers
// take for the end of a parameter.
func ParseQuery(raw string, found Findings) url.Values {
	query := url.Values{}
	for pair := range strings.SplitSeq(raw, "&") {
		parsed, err := url.ParseQuery(pair)
		if err != nil {
			addUnreadable(pair, found)
			continue
		}
		for name, values := range parsed {
			query[name] = append(query[name], values...)
		}
	}
	return query
}

// addUnreadable notes that a parameter cannot be read, at its name as far as that can be.
func addUnreadable(pair string, found Findings) {
	name, value, _ := strings.Cut(pair, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	text := unescapableText
	if strings.Contains(pair, ";") {
		text = semicolonText
	}
	found.Add("query."+Cut(name), text, value)
}
