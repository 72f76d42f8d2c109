package evidence

import "strings"

// GitCommit is a commit as a client reported it; members that it withheld are nil (docs/semantics.md 6.1).
type GitCommit struct {
	SHA1           string   `json:"sha1"`
	Message        *string  `json:"message" nullable:"true"`
	Author         *string  `json:"author" nullable:"true"`
	AuthorUsername *string  `json:"author_username" nullable:"true"`
	Branch         *string  `json:"branch" nullable:"true"`
	Timestamp      *float64 `json:"timestamp" nullable:"true" doc:"Unix seconds."`
	URL            *string  `json:"url" nullable:"true"`
	Parents        []string `json:"parents" nullable:"true"`
	Verified       *bool    `json:"verified" nullable:"true"`
	SignatureState *string  `json:"signature_state" nullable:"true"`
}

// Redacted returns the commit with nil for an empty author, message or branch (docs/semantics.md 6.1).
func (c GitCommit) Redacted() GitCommit {
	for _, text := range []**string{&c.Author, &c.Message, &c.Branch} {
		if *text != nil && **text == "" {
			*text = nil
		}
	}
	return c
}

// CommitSHA is the SHA of a commit, "" for nil.
func CommitSHA(c *GitCommit) string {
	if c == nil {
		return ""
	}
	return strings.ToLower(c.SHA1)
}

// OnBranchOf reports whether the commit may be on another's branch. It is false if both branches are known and differ.
func (c *GitCommit) OnBranchOf(other *GitCommit) bool {
	return c == nil || other == nil || c.Branch == nil || other.Branch == nil || *c.Branch == *other.Branch
}

// NoCommit is git's SHA for no commit.
const NoCommit = "0000000000000000000000000000000000000000"

// shortSHA is the number of characters of a SHA that clients show.
const shortSHA = 7

// ShownSHA is the SHA of an artifact's commit in members of responses that are never null. It is NoCommit if the SHA is
// unknown or shorter than seven characters: clients cut it to seven and fail on a shorter text.
func ShownSHA(sha string) string {
	if len(sha) < shortSHA {
		return NoCommit
	}
	return sha
}

// ExternalURL points to something outside, by a label (docs/semantics.md 6.1).
type ExternalURL struct {
	Href        string  `json:"href"`
	Fingerprint *string `json:"fingerprint,omitempty"`
}
