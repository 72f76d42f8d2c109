package request

import (
	"fmt"
	"net/url"
	"strings"

	"attestry/api/proofs"
	"attestry/api/resource"
	"attestry/api/web/view"
)

// Logged is the entry of a fact in the transparency log.
type Logged struct {
	Index int64 // from 0
	Proof string
}

// Logged finds the entries of facts, each given as kind/id, in the log of an organization. Their number is limited by
// the API. Without a log there are none.
func (r *Request) Logged(facts []string) (map[string]*Logged, error) {
	if len(facts) == 0 {
		return nil, nil
	}
	var answer proofs.LogEntriesResponse
	if _, err := r.GetIfThere(Target("/log/%s/entries", r.Org())+"?"+url.Values{"facts": facts}.Encode(), &answer); err != nil {
		return nil, err
	}
	found := map[string]*Logged{}
	for _, entry := range answer.Entries {
		kind, id, _ := strings.Cut(entry.Fact, "/")
		found[entry.Fact] = &Logged{Index: entry.Index, Proof: view.Pages.ProofSelf(r.Org(), kind, id)}
	}
	return found, nil
}

// LoggedVersions is Logged for the versions of a named object. It returns the entries by version number.
func LoggedVersions[V any](r *Request, kind, name string, versions []V, number func(*V) int) (map[int]*Logged, error) {
	facts := resource.Map(versions, func(version *V) string { return fmt.Sprintf("%s/%s:%d", kind, name, number(version)) })
	found, err := r.Logged(facts)
	byVersion := map[int]*Logged{}
	for i := range versions {
		byVersion[number(&versions[i])] = found[facts[i]]
	}
	return byVersion, err
}
