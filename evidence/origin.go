package evidence

import (
	"cmp"
	"slices"
)

// Origin is the newest record of a fingerprint in a flow (docs/semantics.md 11.3). It has the members of the record
// that snapshots, events and deployments show. A record never changes.
type Origin struct {
	Flow   string `json:"flow"`   // id
	Trail  string `json:"trail"`  // name
	Slot   string `json:"slot"`   // the reference name in the template
	Record string `json:"record"` // id
	// Parent is the fingerprint of the record if the origin is that of a child (docs/semantics.md 5.5).
	Parent string `json:"parent,omitempty"`
	// Repo is the internal id of the record's repository, "" if it has none.
	Repo      string `json:"repo,omitempty"`
	CommitSHA string `json:"commit_sha,omitempty"` // "" if unknown
	CommitURL string `json:"commit_url,omitempty"`
	// Commit has the members of the commit that are shown, nil if only its SHA is known.
	Commit *GitCommit `json:"commit,omitempty"`
	// Time is that of the record, First that of the flow's first record of the fingerprint, in Unix seconds.
	Time  float64 `json:"time"`
	First float64 `json:"first"`
}

// Origin is the origin of the record's fingerprint.
func (a *ArtifactRecord) Origin() Origin {
	return Origin{
		Flow: a.Flow, Trail: a.Trail, Slot: a.Name, Record: a.ID, Repo: a.Repo,
		CommitSHA: a.CommitSHA, CommitURL: shortURL(a.CommitURL), Commit: a.Commit.brief(),
		Time: a.CreatedAt, First: a.CreatedAt,
	}
}

// Fingerprint is the fingerprint of the record, if the artifact runs under the given one.
func (o *Origin) Fingerprint(running string) string { return cmp.Or(o.Parent, running) }

// Fingerprints are the fingerprints of a running artifact: its own, and those of the records of its origins.
func Fingerprints(own string, origins []Origin) []string {
	fingerprints := []string{own}
	for i := range origins {
		if other := origins[i].Parent; other != "" && !slices.Contains(fingerprints, other) {
			fingerprints = append(fingerprints, other)
		}
	}
	return fingerprints
}

// TrailKey is the key of the origin's trail.
func (o *Origin) TrailKey() string { return TrailKey(o.Flow, o.Trail) }

// LeadTime is the time from the commit to a time in Unix seconds, in seconds; negative if that is earlier, nil if
// unknown.
func (o *Origin) LeadTime(until float64) *float64 {
	if o.Commit == nil || o.Commit.Timestamp == nil {
		return nil
	}
	return new(RoundSeconds(until - *o.Commit.Timestamp))
}

// Later reports whether the origin's record was made after another's.
func (o *Origin) Later(other *Origin) bool {
	return cmp.Or(cmp.Compare(o.Time, other.Time), cmp.Compare(o.Record, other.Record)) > 0
}

// SortOrigins orders origins by the times of their flows' first records: the first flow built the artifact.
func SortOrigins(origins []Origin) {
	slices.SortFunc(origins, func(a, b Origin) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Flow, b.Flow))
	})
}

// Bounds of a commit's message, author and branch, and of URLs in origins, in bytes. Origins are copied into snapshots,
// whose size must not depend on them. A longer URL is left out, as a part of it is useless.
const (
	maxBriefMessage = 1 << 10
	maxBriefName    = 1 << 8
	maxBriefURL     = 1 << 10
)

// brief returns the commit without parents, signature and a long URL, and with shortened texts.
func (c *GitCommit) brief() *GitCommit {
	if c == nil {
		return nil
	}
	brief := GitCommit{SHA1: c.SHA1, Message: c.Message, Author: c.Author, Branch: c.Branch, Timestamp: c.Timestamp, URL: c.URL}
	shorten := func(text **string, most int) {
		if *text != nil {
			*text = new(Shorten(**text, most))
		}
	}
	shorten(&brief.Message, maxBriefMessage)
	shorten(&brief.Author, maxBriefName)
	shorten(&brief.Branch, maxBriefName)
	if shortURL(ZeroIfNil(c.URL)) == "" {
		brief.URL = nil
	}
	return &brief
}

// shortURL returns "" for a URL that is too long.
func shortURL(address string) string {
	if len(address) > maxBriefURL {
		return ""
	}
	return address
}
