package evidence

import (
	"cmp"
	"slices"
)

// Origin is where a flow knows a fingerprint from: its newest record there (docs/semantics.md 11.3). It holds what
// snapshots, events and deployments show of the record, which never changes.
type Origin struct {
	Flow   string `json:"flow"`   // id
	Trail  string `json:"trail"`  // name
	Slot   string `json:"slot"`   // the reference name in the template
	Record string `json:"record"` // id
	// Parent is the fingerprint of the record if the origin is that of a child (docs/semantics.md 5.5).
	Parent string `json:"parent,omitempty"`
	// Repo is the inner id of the repository that the record named, "" when none.
	Repo      string `json:"repo,omitempty"`
	CommitSHA string `json:"commit_sha,omitempty"` // "" when unknown
	CommitURL string `json:"commit_url,omitempty"`
	// Commit is what is shown of the commit, nil when no more than its SHA is known.
	Commit *GitCommit `json:"commit,omitempty"`
	// Time is when the record was made and First when the flow's first record of the fingerprint was, in Unix seconds.
	Time  float64 `json:"time"`
	First float64 `json:"first"`
}

// Origin is what the record tells of where its fingerprint comes from.
func (a *ArtifactRecord) Origin() Origin {
	return Origin{
		Flow: a.Flow, Trail: a.Trail, Slot: a.Name, Record: a.ID, Repo: a.Repo,
		CommitSHA: a.CommitSHA, CommitURL: shortURL(a.CommitURL), Commit: a.Commit.brief(),
		Time: a.CreatedAt, First: a.CreatedAt,
	}
}

// Fingerprint is the one that the flow knows an artifact by which runs as another.
func (o *Origin) Fingerprint(runs string) string { return cmp.Or(o.Parent, runs) }

// Fingerprints are those that an artifact goes by: its own, and those of its origins.
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

// LeadTime is the time from the commit until a time in Unix seconds, in seconds; negative if earlier, nil if unknown.
func (o *Origin) LeadTime(until float64) *float64 {
	if o.Commit == nil || o.Commit.Timestamp == nil {
		return nil
	}
	return new(RoundSeconds(until - *o.Commit.Timestamp))
}

// Later reports whether the origin's record was made behind another's.
func (o *Origin) Later(other *Origin) bool {
	return cmp.Or(cmp.Compare(o.Time, other.Time), cmp.Compare(o.Record, other.Record)) > 0
}

// SortOrigins orders origins by when their flows first knew of the artifact: the first is the one that built it.
func SortOrigins(origins []Origin) {
	slices.SortFunc(origins, func(a, b Origin) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Flow, b.Flow))
	})
}

// Bounds of what origins keep of a commit's message, of its author and branch, and of addresses, in bytes. Origins are
// copied into snapshots, whose size must not depend on them. A longer address is left out, as a part of it is useless.
const (
	maxBriefMessage = 1 << 10
	maxBriefName    = 1 << 8
	maxBriefURL     = 1 << 10
)

// brief is what answers show of a commit beside a record: no parents, signature or long address, and short texts.
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
	if shortURL(Text(c.URL)) == "" {
		brief.URL = nil
	}
	return &brief
}

// shortURL leaves a very long address out.
func shortURL(address string) string {
	if len(address) > maxBriefURL {
		return ""
	}
	return address
}
