package evidence

import (
	"net/url"
	"slices"
	"strings"
)

// The schemes of URLs that people follow, and of those that repositories have. Others,
// such as javascript: and data:, could run a script in the reader's browser.
var (
	linkSchemes = []string{"http", "https"}
	repoSchemes = []string{"http", "https", "ssh", "git", "git+ssh", "git+http", "git+https", "svn", "svn+ssh"}
)

const linkSchemeText = "URL scheme should be 'http' or 'https'"

// AbsoluteURLFault returns what is wrong with a URL that is shown as a link and has a
// scheme, "" for nothing.
func AbsoluteURLFault(text string) string {
	if text == "" {
		return "Input should be a valid URL, input is empty"
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Scheme == "":
		return "Input should be a valid URL, relative URL without a base"
	case !slices.Contains(linkSchemes, parsed.Scheme):
		return linkSchemeText
	}
	return ""
}

// LinkFault is AbsoluteURLFault for a URL that may be empty or without a scheme, such
// as www.example.com: clients send both.
func LinkFault(text string) string {
	if allowsScheme(linkSchemes, text) {
		return ""
	}
	return linkSchemeText
}

// RepoURLFault is LinkFault for the URL of a repository, which may also be of the form
// git@host:path or have a scheme of Git or Subversion.
func RepoURLFault(text string) string {
	if allowsScheme(repoSchemes, text) {
		return ""
	}
	return "URL scheme should be 'http', 'https', 'ssh', 'git' or 'svn'"
}

func allowsScheme(schemes []string, text string) bool {
	scheme := schemeOf(text)
	return scheme == "" || slices.Contains(schemes, scheme)
}

// schemeOf returns the scheme of a URL in lower case, "" for none, as browsers see it:
// they ignore blanks and control characters. A host before a port or a path, as in
// example.com:8080 and git@example.com:a/b, is no scheme.
func schemeOf(text string) string {
	text = strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	end := strings.IndexAny(text, ":/?#")
	if end < 0 || text[end] != ':' {
		return ""
	}
	scheme := strings.ToLower(text[:end])
	if strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-") != "" {
		return ""
	}
	return scheme
}
