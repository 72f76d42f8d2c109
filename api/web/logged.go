package web

import (
	"fmt"
	"net/url"
	"strings"

	"attestry/api/web/request"
	"attestry/api/web/view"
)

// logged is where the transparency log has a fact.
type logged struct {
	Index int64 // from 0
	Proof string
}

// logged finds facts, each as kind/id, in the log of an organization. There are at most maxDetails; nothing is found without
// a log.
func (p *page) logged(org string, facts []string) (map[string]*logged, error) {
	if len(facts) == 0 {
		return nil, nil
	}
	var answer struct {
		Entries []struct {
			Fact  string `json:"fact"`
			Index int64  `json:"index"`
		} `json:"entries"`
	}
	if _, err := p.GetIfThere(request.Target("/log/%s/entries", org)+"?"+url.Values{"facts": facts}.Encode(), &answer); err != nil {
		return nil, err
	}
	found := map[string]*logged{}
	for _, entry := range answer.Entries {
		kind, id, _ := strings.Cut(entry.Fact, "/")
		found[entry.Fact] = &logged{Index: entry.Index, Proof: view.Pages.LogProof(org, kind, id)}
	}
	return found, nil
}

// loggedVersions is logged for versions, by their numbers, of something that has a name.
func loggedVersions[V any](p *page, kind, name string, versions []V, number func(*V) int) (map[int]*logged, error) {
	facts := make([]string, 0, len(versions))
	for i := range versions {
		facts = append(facts, fmt.Sprintf("%s/%s:%d", kind, name, number(&versions[i])))
	}
	found, err := p.logged(p.Org(), facts)
	byVersion := map[int]*logged{}
	for i := range versions {
		byVersion[number(&versions[i])] = found[facts[i]]
	}
	return byVersion, err
}
