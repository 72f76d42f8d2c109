package framing

import (
	"regexp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"attestry/links"
)

var (
	// innerID is the form of internal ids (docs/semantics.md 1.3).
	innerID = regexp.MustCompile(`^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{8}$`)
	// ofRepoByID are the operations on a repository that is named by its internal
	// id.
	ofRepoByID = []string{"deployments", "deployment-statistics"}
)

const (
	reposPrefix = links.Prefix + "/repos/"
	// liveArtifacts leads the path of the operation that has the name at its end.
	liveArtifacts = "live-artifacts/"
)

// JoinRepoName lets names of repositories have slashes in the path, as clients
// send them (docs/semantics.md 1.6): for the router, the name becomes one segment.
func JoinRepoName(c *fiber.Ctx) error {
	if method := c.Method(); method == fiber.MethodGet || method == fiber.MethodHead {
		c.Path(repoPath(c.Path()))
	}
	return c.Next()
}

// repoPath escapes the slashes within the name of a repository. All else of the
// path stays as it was sent, and so does every other path.
func repoPath(path string) string {
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
