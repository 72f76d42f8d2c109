package framing

import (
	"strings"

	"attestry/links"
)

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
