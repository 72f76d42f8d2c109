package framing

import (
	"regexp"
	"slices"
	"strings"

	"attestry/links"
)

var (
	// innerID is the form of internal ids (docs/semantics.md 1.3).
	innerID = regexp.MustCompile(`^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{8}$`)
	// ofRepoByID are the operations on a repository that is named by its internal id.
	ofRepoByID = []string{"deployments", "deployment-statistics"}
)

const (
	reposPrefix = links.Prefix + "/repos/"
	// liveArtifacts precedes the name in the path of the operation whose path ends with it.
	liveArtifacts = "live-artifacts/"
)

// RepoPath escapes the slashes within the name of a repository, as clients send names with slashes in the path
// (docs/semantics.md 1.6). All else of the path stays as it was sent, and so does every other path.
func RepoPath(path string) string {
	rest, ok := strings.CutPrefix(path, reposPrefix)
	if !ok {
		return path
	}
	org, name, ok := strings.Cut(rest, "/")
	if !ok || org == "" {
		return path
	}
	if id, operation, ok := strings.Cut(name, "/"); ok && innerID.MatchString(id) && slices.Contains(ofRepoByID, operation) {
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
	// tilesPrefix is the other name of the paths of transparency logs, which the clients of tlog-tiles are given.
	tilesPrefix = "/-/log/"
)

// LogPath returns the path of the operation on a transparency log that a path means: /-/log is another name of the log's
// operations, and the path of a tile, which has slashes in it, becomes one segment. Every other path stays as it is.
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
