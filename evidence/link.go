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
	// browserSchemes are those on which browsers act without a host. No host is taken to have such a name.
	browserSchemes = []string{"about", "blob", "data", "file", "filesystem", "javascript", "mailto", "tel", "vbscript", "view-source"}
)

// AbsoluteURLFault returns what is wrong with a URL that is shown as a link and has a scheme, "" for nothing.
func AbsoluteURLFault(text string) string {
	if text == "" {
		return "Input should be a valid URL, input is empty"
	}
	if parsed, err := url.Parse(text); err != nil || parsed.Scheme == "" {
		return "Input should be a valid URL, relative URL without a base"
	}
	return LinkFault(text)
}

// LinkFault is AbsoluteURLFault for a URL that may be empty or without a scheme, such
// as www.example.com and localhost:8080/job/1: clients send both.
func LinkFault(text string) string {
	if scheme, rest := schemeOf(text); scheme == "" || slices.Contains(linkSchemes, scheme) || isHostPort(scheme, rest) {
		return ""
	}
	return "URL scheme should be 'http' or 'https'"
}

// RepoURLFault is LinkFault for the URL of a repository, which may also be of the form
// git@host:path, host:path or C:/path, or have a scheme of Git or Subversion.
func RepoURLFault(text string) string {
	scheme, rest := schemeOf(text)
	hostPath := !strings.HasPrefix(rest, "//") && !slices.Contains(browserSchemes, scheme)
	if scheme == "" || slices.Contains(repoSchemes, scheme) || hostPath {
		return ""
	}
	return "URL scheme should be 'http', 'https', 'ssh', 'git' or 'svn'"
}

// isHostPort reports whether what looks like a scheme is a host before a port.
func isHostPort(scheme, rest string) bool {
	end := strings.IndexAny(rest+"/", "/?#")
	port := rest[:end]
	return port != "" && len(port) <= len("65535") && strings.Trim(port, "0123456789") == "" && !slices.Contains(browserSchemes, scheme)
}

// schemeOf returns the scheme of a URL in lower case, "" for none, and what follows its
// colon, as browsers see it: they ignore blanks and control characters. A host with a
// point or a user, as in example.com:8080 and git@example.com:a/b, is no scheme.
func schemeOf(text string) (scheme, rest string) {
	text = strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	end := strings.IndexAny(text, ":/?#")
	if end < 0 || text[end] != ':' {
		return "", ""
	}
	scheme = strings.ToLower(text[:end])
	if strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-") != "" {
		return "", ""
	}
	return scheme, text[end+1:]
}
