package evidence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// RepoInfo is a repository as a client reports it (docs/semantics.md 15.1).
type RepoInfo struct {
	Name           string          `json:"name"`
	ID             *string         `json:"id"` // at the provider
	URL            string          `json:"url"`
	Description    *string         `json:"description"`
	Provider       *string         `json:"provider"`
	NamespacePath  []string        `json:"namespace_path"`
	AdditionalInfo json.RawMessage `json:"additional_info,omitempty"`
}

// Named reports whether the info is enough to make a repository (docs/semantics.md 15.1).
func (i RepoInfo) Named() bool { return i.Name != "" && i.URL != "" }

// RepoID derives the id of the repository in an organization, so that concurrent first reports make one repository.
//
// Repositories at different providers may have the same external id. They have the ordinals 0, 1, 2, … in the order of
// their creation, and Match distinguishes them. Without an external id, provider and name identify the repository, and
// its ordinal is 0.
func (i RepoInfo) RepoID(org string, ordinal int) string {
	identity := []string{org, ZeroIfNil(i.Provider), "name", i.Name}
	if id := ZeroIfNil(i.ID); id != "" {
		identity = []string{org, "id", id, strconv.Itoa(ordinal)}
	}
	encoded, _ := json.Marshal(identity) // a list of texts has JSON
	return DerivedID(encoded)
}

// Repo is a repository that reports have named. Its external id and provider do not change when it is renamed.
type Repo struct {
	ID             string            `json:"id"`
	Org            string            `json:"org"`
	ExternalID     string            `json:"external_id"` // "" if unknown
	Name           string            `json:"name"`
	URL            string            `json:"url"`
	Provider       string            `json:"provider"` // "" when unknown
	Description    *string           `json:"description"`
	NamespacePath  []string          `json:"namespace_path"`
	AdditionalInfo json.RawMessage   `json:"additional_info,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	CreatedAt      float64           `json:"created_at"`
	// LastModifiedAt is when the repository last changed or, with the precision of a minute, was last reported.
	LastModifiedAt float64 `json:"last_modified_at"`
}

// repoActivityInterval is the precision of LastModifiedAt, in seconds. It saves writes.
const repoActivityInterval = 60

// RepoMatch reports whether a report is about a repository that has the external id of the report.
type RepoMatch int

const (
	// OtherRepo is another repository.
	OtherRepo RepoMatch = iota
	// SameRepo is the repository that the report is about.
	SameRepo
	// AdoptableRepo has no provider. It is the reported one unless another repository has the report's provider.
	AdoptableRepo
)

// Match compares the repository with info that has the same external id. It compares the providers if both are known,
// else the hosts: external ids are unique at a host.
func (r *Repo) Match(info RepoInfo) RepoMatch {
	provider := ZeroIfNil(info.Provider)
	switch {
	case r.ExternalID == "":
		return SameRepo // the id is derived from provider and name
	case r.Provider != "" && r.Provider == provider:
		return SameRepo
	case r.Provider != "" && provider != "":
		return OtherRepo
	case !strings.EqualFold(cmp.Or(hostOf(r.URL), r.URL), cmp.Or(hostOf(info.URL), info.URL)):
		return OtherRepo
	case provider != "":
		return AdoptableRepo
	default:
		return SameRepo
	}
}

// NewRepo makes the repository of info at a time in Unix seconds. RepoID explains ordinal.
func NewRepo(org string, info RepoInfo, ordinal int, at float64) Repo {
	repo := Repo{
		ID: info.RepoID(org, ordinal), Org: org, ExternalID: ZeroIfNil(info.ID), Provider: ZeroIfNil(info.Provider),
		CreatedAt: at, LastModifiedAt: at,
	}
	repo.Apply(info, at)
	return repo
}

// Apply sets the members that a later report has. A report that is older than the last one only sets an unknown
// provider, as the provider identifies the repository.
func (r *Repo) Apply(info RepoInfo, at float64) {
	changed := r.Provider == "" && set(&r.Provider, ZeroIfNil(info.Provider))
	if at < r.LastModifiedAt {
		return
	}
	renamed := set(&r.Name, info.Name)
	changed = set(&r.URL, info.URL) || renamed || changed
	if info.Description != nil {
		changed = set(&r.Description, info.Description) || changed
	}
	// The namespace of the former name may be wrong for the new one.
	if info.NamespacePath != nil || renamed {
		changed = set(&r.NamespacePath, info.NamespacePath) || changed
	}
	if info.AdditionalInfo != nil && !sameJSON(r.AdditionalInfo, info.AdditionalInfo) {
		r.AdditionalInfo = info.AdditionalInfo
		changed = true
	}
	if changed || at-r.LastModifiedAt >= repoActivityInterval {
		r.LastModifiedAt = at
	}
}

func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var left, right any
	return json.Unmarshal(a, &left) == nil && json.Unmarshal(b, &right) == nil && reflect.DeepEqual(left, right)
}

// Namespace is the path of the repository's groups: as reported, else the name without its last segment.
func (r *Repo) Namespace() []string {
	if len(r.NamespacePath) > 0 {
		return r.NamespacePath
	}
	segments := strings.Split(r.Name, "/")
	return segments[:len(segments)-1]
}

// Within reports whether the repository is in a namespace or below it.
func (r *Repo) Within(namespace []string) bool {
	own := r.Namespace()
	return len(own) >= len(namespace) && slices.Equal(own[:len(namespace)], namespace)
}

// Instance is the host of the repository's URL, in lower case, or "". The URL may have the form user@host:path.
func (r *Repo) Instance() string { return strings.ToLower(hostOf(r.URL)) }

func hostOf(address string) string {
	if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
		return parsed.Host
	}
	_, rest, found := strings.Cut(address, "@")
	host, _, colon := strings.Cut(rest, ":")
	if found && colon && !strings.Contains(host, "/") {
		return host
	}
	return ""
}
