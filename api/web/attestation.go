package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"attestry/api/attestations"
	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/web/request"
	"attestry/api/web/view"
	recorded "attestry/evidence/attestation"
)

const (
	// maxDetails is how many attestations of a page have details: the API's limit for one request.
	maxDetails = 200
	// sectionRows is how many attestations of a trail, or of one artifact of it, a page lists.
	sectionRows = 50
	// maxFound is how many lines of an attestation's findings a page shows.
	maxFound = 8
	// maxPayload is how much of a payload a page shows, in bytes of HTML.
	maxPayload = 16 << 10
)

// setFound sets the findings and the payload, which it reads from the JSON of the attestation.
func (a *attestation) setFound(answer json.RawMessage) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil {
		return err
	}
	if kind, ok := recorded.TypeOf(a.AttestationType); !ok || kind.Member != "" {
		a.Payload = view.Cut(string(members[cmp.Or(kind.Member, recorded.DataMember)]), maxPayload)
	}
	lines, more := first(recorded.Summary(a.AttestationType, a.Finding, a.Reason != nil, members), maxFound)
	for _, line := range lines {
		a.Found = append(a.Found, strings.Clone(view.Excerpt(line))) // without the answer, which may be large
	}
	if more > 0 {
		a.Found = append(a.Found, fmt.Sprintf("and %d more", more))
	}
	return nil
}

// attestation is an attestation as pages show it.
type attestation struct {
	attestations.Attestation
	// Found are its findings in words, nil for types that are shown only by their verdict.
	Found []string `json:"-"`
	// Payload is the data that its type judged, or the beginning of them.
	Payload string `json:"-"`
	// Logged is its entry in the transparency log, nil if there is none.
	Logged *request.Logged `json:"-"`
	// Listed is set for the selected attestation if a table of the page has it.
	Listed bool `json:"-"`
}

// brief is the attestation without the members that may be large, which tables do not show.
func (a attestation) brief() *attestation {
	a.Payload, a.Description, a.ExternalURLs, a.Annotations, a.UserData, a.AttestationPayload = "", nil, nil, nil, nil, attestations.AttestationPayload{}
	return &a
}

// entry is an attestation that was made, or that a template requires.
type entry struct {
	resource.AttestationComplianceStatus
	// Details is nil for missing attestations, and for those after the first maxDetails.
	Details *attestation `json:"-"`
	// Asked is set if the URL selects this one.
	Asked bool `json:"-"`
	// Anchor is set if the entry has an HTML id. An attestation of several artifacts has an entry for each, and
	// only the first on a page has the id.
	Anchor bool `json:"-"`
}

// Missing reports whether the attestation was not made.
func (e *entry) Missing() bool { return e.AttestationID == nil }

// State is the verdict, in the form of the template function state.
func (e *entry) State() any {
	if e.Missing() {
		return "MISSING"
	}
	return e.IsCompliant
}

func (e *entry) failing() bool { return !e.Missing() && e.IsCompliant != nil && !*e.IsCompliant }

// section lists the attestations of a trail itself, or of one of its artifacts.
type section struct {
	Entries []entry
	// More is how many entries are left out.
	More int
	Org  string
	// Flow and Trail are the location of the evidence.
	Flow, Trail string
	// Label is the trail or artifact in words.
	Label string
}

func newSection(label, org, flow, trail string, entries []entry) section {
	shown, more := first(entries, sectionRows)
	return section{Entries: shown, More: more, Org: org, Flow: flow, Trail: trail, Label: label}
}

// loadDetails reads the details of attestations that the status of a trail lacks: who made them, when, why. It also sets
// Asked and Anchor of the entries. It returns the selected attestation, nil if there is none, and the transparency log's
// entries of the attestations and of other facts, by the names of the facts.
func (p *page) loadDetails(selected string, facts []string, sections ...*section) (*attestation, map[string]*request.Logged, error) {
	var ids []string
	if selected != "" {
		ids = append(ids, selected)
	}
	entries := map[string][]*entry{} // by attestation
	for _, section := range sections {
		for i := range section.Entries {
			one := &section.Entries[i]
			if one.Missing() {
				continue
			}
			id := *one.AttestationID
			one.Asked, one.Anchor = id == selected, len(entries[id]) == 0
			if one.Anchor && !one.Asked {
				ids = append(ids, id)
			}
			entries[id] = append(entries[id], one)
		}
	}
	ids, _ = first(ids, maxDetails)
	for _, id := range ids {
		facts = append(facts, "attestation/"+id)
	}
	logged, err := p.Logged(facts)
	if err != nil || len(ids) == 0 {
		return nil, logged, err
	}
	var found *attestation
	err = p.Read(request.Target("/attestations/%s", p.Org())+"?"+url.Values{"ids": ids}.Encode(), func(decoder *jsonstream.Decoder) error {
		return decoder.Object(map[string]any{"data": jsonstream.Elements(decoder, func(answer json.RawMessage) error {
			var one attestation
			if err := json.Unmarshal(answer, &one); err != nil {
				return err
			}
			if err := one.setFound(answer); err != nil {
				return err
			}
			one.Logged = logged["attestation/"+one.AttestationID]
			if one.AttestationID == selected {
				one.Listed = len(entries[selected]) > 0
				found = &one
			}
			row := one.brief()
			for _, entry := range entries[one.AttestationID] {
				entry.Details = row
			}
			return nil
		})})
	})
	return found, logged, err
}
