package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// RepoInfo is what a client tells of the repository it works in
// (contract/requests.md, RepoInfoPostInput).
type RepoInfo struct {
	Name           string          `json:"name"`
	ID             *string         `json:"id"` // at the provider
	URL            string          `json:"url"`
	Description    *string         `json:"description"`
	Provider       *string         `json:"provider"`
	NamespacePath  []string        `json:"namespace_path"`
	AdditionalInfo json.RawMessage `json:"additional_info,omitempty"`
}

// Named tells whether the info is enough to make a repository of
// (contract/semantics.md 2.7).
func (i RepoInfo) Named() bool { return i.Name != "" && i.URL != "" }

// RepoID is the id of the repository of an organization that info tells of. It
// follows from what identifies a repository, so that reports that are the first at
// the same time make one.
func (i RepoInfo) RepoID(org string) string {
	identity := []string{org, text(i.Provider), "name", i.Name}
	if id := text(i.ID); id != "" {
		identity = []string{org, text(i.Provider), "id", id}
	}
	encoded, err := json.Marshal(identity)
	if err != nil {
		panic(err) // a list of texts
	}
	digest := sha256.Sum256(encoded)
	h := hex.EncodeToString(digest[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:28]}, "-")
}

func text(t *string) string {
	if t == nil {
		return ""
	}
	return *t
}

// Repo is a repository that reports have named. It is known by its external id
// where there is one, so that a rename at the provider keeps it one repository
// (contract/semantics.md 7).
type Repo struct {
	ID             string            `json:"id"`
	Org            string            `json:"org"`
	ExternalID     string            `json:"external_id"` // "" when unknown
	Name           string            `json:"name"`
	URL            string            `json:"url"`
	Provider       string            `json:"provider"` // "" when unknown
	Description    *string           `json:"description"`
	NamespacePath  []string          `json:"namespace_path"`
	AdditionalInfo json.RawMessage   `json:"additional_info,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	CreatedAt      float64           `json:"created_at"`
	// LastModifiedAt is when the repository was last reported. It moves at most once
	// a minute.
	LastModifiedAt float64 `json:"last_modified_at"`
}

// repoActivityInterval is how exact LastModifiedAt is, in seconds: a repository in
// steady use is written no more often.
const repoActivityInterval = 60

// NewRepo makes the repository that info tells of at a time in Unix seconds.
func NewRepo(org string, info RepoInfo, at float64) Repo {
	repo := Repo{
		ID: info.RepoID(org), Org: org, ExternalID: text(info.ID), Provider: text(info.Provider),
		CreatedAt: at, LastModifiedAt: at,
	}
	repo.Apply(info, at)
	return repo
}

// Apply takes in what a later report tells. What it does not tell stays as it is
// known; a report that is older than the last one changes nothing.
func (r *Repo) Apply(info RepoInfo, at float64) {
	if at < r.LastModifiedAt {
		return
	}
	if r.learn(info) || at-r.LastModifiedAt >= repoActivityInterval {
		r.LastModifiedAt = at
	}
}

// learn tells whether info says anything new.
func (r *Repo) learn(info RepoInfo) bool {
	renamed := set(&r.Name, info.Name)
	changed := set(&r.URL, info.URL) || renamed
	if info.Description != nil {
		changed = set(&r.Description, info.Description) || changed
	}
	// The namespace of a former name says nothing of the new one.
	if info.NamespacePath != nil || renamed {
		changed = set(&r.NamespacePath, info.NamespacePath) || changed
	}
	if info.AdditionalInfo != nil && !sameJSON(r.AdditionalInfo, info.AdditionalInfo) {
		r.AdditionalInfo = info.AdditionalInfo
		changed = true
	}
	return changed
}

func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var left, right any
	return json.Unmarshal(a, &left) == nil && json.Unmarshal(b, &right) == nil && reflect.DeepEqual(left, right)
}

// Namespace is the path of groups that the repository is in: as reported, else the
// segments that lead its name.
func (r *Repo) Namespace() []string {
	if len(r.NamespacePath) > 0 {
		return r.NamespacePath
	}
	segments := strings.Split(r.Name, "/")
	return segments[:len(segments)-1]
}

// Within tells whether the repository is in a namespace or in one beneath it.
func (r *Repo) Within(namespace []string) bool {
	own := r.Namespace()
	return len(own) >= len(namespace) && slices.Equal(own[:len(namespace)], namespace)
}

// Instance is the host that keeps the repository, "" when its address names
// none. Addresses of the form user@host:path are understood too.
func (r *Repo) Instance() string {
	if parsed, err := url.Parse(r.URL); err == nil && parsed.Host != "" {
		return parsed.Host
	}
	_, rest, found := strings.Cut(r.URL, "@")
	host, _, colon := strings.Cut(rest, ":")
	if found && colon && !strings.Contains(host, "/") {
		return host
	}
	return ""
}
