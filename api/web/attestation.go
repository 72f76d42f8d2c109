package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"attestry/api/attestations"
	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/web/request"
	"attestry/api/web/view"
	recorded "attestry/evidence/attestation"
)

const (
	// maxDetails is how many attestations of a page have details: as many as the API gives at once.
	maxDetails = 200
	// sectionRows is how many attestations of a trail, or of one artifact of it, a page lists.
	sectionRows = 50
)

const (
	// maxFound is how many lines of what an attestation found a page shows.
	maxFound = 8
	// maxPayload is how much of a payload a page shows, in bytes of HTML.
	maxPayload = 16 << 10
)

// setFound reads what the attestation found, and the payload, from the answer that it was decoded from.
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
	// Found says in words what it found, nil for types that are shown by their verdict alone.
	Found []string `json:"-"`
	// Payload is what its type judged, or the beginning of it.
	Payload string `json:"-"`
	// Logged is where the transparency log has it, nil if it has not.
	Logged *request.Logged `json:"-"`
}

// brief is the attestation without what may be large and tables do not show.
func (a attestation) brief() *attestation {
	a.Payload, a.Description, a.ExternalURLs, a.Annotations, a.UserData, a.AttestationPayload = "", nil, nil, nil, nil, attestations.AttestationPayload{}
	return &a
}

// entry is an attestation that a template requires, or that is there.
type entry struct {
	resource.AttestationComplianceStatus
	// Details is nil for what is missing, and for what is beyond maxDetails.
	Details *attestation `json:"-"`
	// Asked is set if the address names this one.
	Asked bool `json:"-"`
	// Anchor is set if the entry has an HTML id. An attestation of several artifacts has an entry for each, and
	// only the first on a page has the id.
	Anchor bool `json:"-"`
}

// Missing reports whether nothing was attested.
func (e *entry) Missing() bool { return e.AttestationID == nil }

// State is the verdict, as the function state of templates takes it.
func (e *entry) State() any {
	if e.Missing() {
		return "MISSING"
	}
	return e.IsCompliant
}

// failing reports whether the entry keeps its trail from being compliant.
func (e *entry) failing() bool { return !e.Missing() && e.IsCompliant != nil && !*e.IsCompliant }

// section lists the attestations of a trail itself, or of one of its artifacts.
type section struct {
	Entries []entry
	// More is how many entries are left out.
	More int
	Org  string
	// Flow and Trail are where the evidence is.
	Flow, Trail string
	// Label says in words what the entries are of.
	Label string
}

// newSection lists the first entries of a trail or an artifact, as the label says.
func newSection(label, org, flow, trail string, entries []entry) section {
	shown, more := first(entries, sectionRows)
	return section{Entries: shown, More: more, Org: org, Flow: flow, Trail: trail, Label: label}
}

// mark sets Asked and Anchor of the entries of a page. It reports whether one of them is the attestation asked.
func mark(asked string, sections ...*section) bool {
	seen := map[string]bool{}
	for _, section := range sections {
		for i := range section.Entries {
			one := &section.Entries[i]
			if one.Missing() {
				continue
			}
			one.Asked, one.Anchor = *one.AttestationID == asked, !seen[*one.AttestationID]
			seen[*one.AttestationID] = true
		}
	}
	return seen[asked]
}

// detail reads what the state of a trail leaves out of its attestations: who made them, when, why. It returns the
// attestation of the id asked, nil if there is none, and where the transparency log has them and other facts of the
// page, each kind/id.
func (p *page) detail(org, asked string, facts []string, sections ...*section) (*attestation, map[string]*request.Logged, error) {
	waiting := map[string][]*entry{}
	if asked != "" {
		waiting[asked] = nil
	}
	for _, section := range sections {
		for i := range section.Entries {
			one := &section.Entries[i]
			if one.Missing() {
				continue
			}
			if _, known := waiting[*one.AttestationID]; known || len(waiting) < maxDetails {
				waiting[*one.AttestationID] = append(waiting[*one.AttestationID], one)
			}
		}
	}
	query := url.Values{"ids": slices.Sorted(maps.Keys(waiting))}
	for _, id := range query["ids"] {
		facts = append(facts, "attestation/"+id)
	}
	entries, err := p.Logged(org, facts)
	if err != nil || len(waiting) == 0 {
		return nil, entries, err
	}
	var found *attestation
	err = p.Read(request.Target("/attestations/%s", org)+"?"+query.Encode(), func(content io.Reader) error {
		decoder := jsonstream.NewDecoder(content)
		return decoder.Object(map[string]any{"data": func() error {
			var answer json.RawMessage
			if err := decoder.Decode(&answer); err != nil {
				return err
			}
			var one attestation
			if err := json.Unmarshal(answer, &one); err != nil {
				return err
			}
			if err := one.setFound(answer); err != nil {
				return err
			}
			one.Logged = entries["attestation/"+one.AttestationID]
			if one.AttestationID == asked {
				found = &one
			}
			row := one.brief()
			for _, entry := range waiting[one.AttestationID] {
				entry.Details = row
			}
			return nil
		}})
	})
	return found, entries, err
}
