package attestation

import "attestry/evidence"

// GitCommit is a commit in requests (docs/semantics.md 6.1).
type GitCommit struct {
	_              struct{} `json:"-" additionalProperties:"true"`
	SHA1           string   `json:"sha1"`
	Message        *string  `json:"message,omitempty" nullable:"true"`
	Author         *string  `json:"author,omitempty" nullable:"true"`
	AuthorUsername *string  `json:"author_username,omitempty" nullable:"true"`
	Branch         *string  `json:"branch,omitempty" nullable:"true"`
	Timestamp      *float64 `json:"timestamp,omitempty" nullable:"true" doc:"Unix seconds."`
	URL            *string  `json:"url,omitempty" nullable:"true" format:"uri-reference"`
	Parents        []string `json:"parents,omitempty" nullable:"true"`
	Verified       *bool    `json:"verified,omitempty" nullable:"true"`
	SignatureState *string  `json:"signature_state,omitempty" nullable:"true"`
}

// Evidence is the commit as it is stored, with a rounded time.
func (c GitCommit) Evidence() evidence.GitCommit {
	if c.Timestamp != nil {
		c.Timestamp = new(evidence.RoundSeconds(*c.Timestamp))
	}
	return evidence.GitCommit{
		SHA1: c.SHA1, Message: c.Message, Author: c.Author, AuthorUsername: c.AuthorUsername,
		Branch: c.Branch, Timestamp: c.Timestamp, URL: c.URL, Parents: c.Parents,
		Verified: c.Verified, SignatureState: c.SignatureState,
	}
}
