package evidence

import (
	"net/url"
	"slices"
	"strings"
)

// The schemes of links and of repositories. Others, such as javascript: and data:, could run a script in the browser.
var (
	linkSchemes = []string{"http", "https"}
	repoSchemes = []string{"http", "https", "ssh", "git", "git+ssh", "git+http", "git+https", "svn", "svn+ssh"}
	// browserSchemes are schemes that browsers handle without a host. They are never taken for the name of a host.
	browserSchemes = []string{"about", "blob", "data", "file", "filesystem", "javascript", "mailto", "tel", "vbscript", "view-source"}
)

// AbsoluteURLFault returns the fault of a URL that is shown as a link and must have a scheme, "" if it is valid.
func AbsoluteURLFault(text string) string {
	if text == "" {
		return "Input should be a valid URL, input is empty"
	}
	if parsed, err := url.Parse(text); err != nil || parsed.Scheme == "" {
		return "Input should be a valid URL, relative URL without a base"
	}
	return LinkFault(text)
}

// LinkFault is AbsoluteURLFault for a URL that may be empty or have no scheme, such as www.example.com and
// localhost:8080/job/1: clients send both.
func LinkFault(text string) string {
	if scheme, rest := schemeOf(text); scheme == "" || slices.Contains(linkSchemes, scheme) || isHostPort(scheme, rest) {
		return ""
	}
	return "URL scheme should be 'http' or 'https'"
}

// RepoURLFault is LinkFault for the URL of a repository, which may also have the form git@host:path, host:path or
// C:/path, or a scheme of Git or Subversion.
func RepoURLFault(text string) string {
	scheme, rest := schemeOf(text)
	hostPath := !strings.HasPrefix(rest, "//") && !slices.Contains(browserSchemes, scheme)
	if scheme == "" || slices.Contains(repoSchemes, scheme) || hostPath {
		return ""
	}
	return "URL scheme should be 'http', 'https', 'ssh', 'git' or 'svn'"
}

// isHostPort reports whether an apparent scheme is a host that is followed by a port.
func isHostPort(scheme, rest string) bool {
	end := strings.IndexAny(rest+"/", "/?#")
	port := rest[:end]
	return port != "" && len(port) <= len("65535") && strings.Trim(port, "0123456789") == "" && !slices.Contains(browserSchemes, scheme)
}

// schemeOf splits a URL at its colon as browsers do, which ignore blanks and control characters. The scheme is in lower
// case, "" for none. A host with a point or a user, as in example.com:8080 and git@example.com:a/b, is not a scheme.
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
