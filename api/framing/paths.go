package framing

import (
	"regexp"
	"slices"
	"strings"

	"attestry/links"
)

var (
	// internalID is the form of internal ids (docs/semantics.md 1.3).
	internalID = regexp.MustCompile(`^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{8}$`)
	// operationsByID are the operations on a repository whose path has its internal id.
	operationsByID = []string{"deployments", "deployment-statistics"}
)

const (
	reposPrefix = links.Prefix + "/repos/"
	// liveArtifacts precedes the name in the path of the operation for live artifacts.
	liveArtifacts = "live-artifacts/"
)

// RepoPath escapes the slashes in the name of a repository, which clients send unescaped (docs/semantics.md 1.6). The
// rest of the path and other paths are unchanged.
func RepoPath(path string) string {
	rest, ok := strings.CutPrefix(path, reposPrefix)
	if !ok {
		return path
	}
	org, name, ok := strings.Cut(rest, "/")
	if !ok || org == "" {
		return path
	}
	if id, operation, ok := strings.Cut(name, "/"); ok && internalID.MatchString(id) && slices.Contains(operationsByID, operation) {
		return path
	}
	head := reposPrefix + org + "/"
	if live, ok := strings.CutPrefix(name, liveArtifacts); ok && live != "" {
		head, name = head+liveArtifacts, live
	}
	return head + strings.ReplaceAll(name, "/", "%2F")
}

const (
	logPrefix = links.Prefix + "/log/"
	// tilesPrefix is an alias of logPrefix for clients of tlog-tiles.
	tilesPrefix = "/-/log/"
)

// LogPath returns the path of an operation on a transparency log: it replaces tilesPrefix by logPrefix, and escapes the
// slashes in the path of a tile. Other paths are unchanged.
func LogPath(path string) string {
	if rest, ok := strings.CutPrefix(path, tilesPrefix); ok {
		path = logPrefix + rest
	}
	rest, ok := strings.CutPrefix(path, logPrefix)
	if !ok {
		return path
	}
	org, tile, ok := strings.Cut(rest, "/tile/")
	if !ok || strings.Contains(org, "/") {
		return path
	}
	return logPrefix + org + "/tile/" + strings.ReplaceAll(tile, "/", "%2F")
}
