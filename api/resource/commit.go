package resource

import "attestry/evidence"

// GitCommitInfo is a commit as trails and attestations show it. Clients take
// author, message and timestamp for granted, so what is withheld is empty
// (docs/semantics.md 16.3).
type GitCommitInfo struct {
	SHA1      string  `json:"sha1"`
	Message   string  `json:"message"`
	Author    string  `json:"author"`
	Branch    string  `json:"branch"`
	Timestamp float64 `json:"timestamp"`
	URL       *string `json:"url" nullable:"true"`
}

// NewGitCommitInfo shows a commit; nil where none is known.
func NewGitCommitInfo(commit *evidence.GitCommit) *GitCommitInfo {
	if commit == nil {
		return nil
	}
	return &GitCommitInfo{
		SHA1: commit.SHA1, Message: ZeroIfNil(commit.Message), Author: ZeroIfNil(commit.Author),
		Branch: ZeroIfNil(commit.Branch), Timestamp: ZeroIfNil(commit.Timestamp), URL: commit.URL,
	}
}
