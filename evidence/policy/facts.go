package policy

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/expression"
)

// Facts are the facts about an artifact that policies evaluate.
type Facts struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	// Flows has one element per flow that the artifact was reported to, with its newest trail there.
	Flows []Flow `json:"flows"`
	// Decisions has the latest decision on each control, by identifier (docs/semantics.md 18.3).
	Decisions map[string]Decision `json:"decisions,omitempty"`
}

// Flow has the facts of one flow about an artifact.
type Flow struct {
	Name  string            `json:"name"`
	Tags  map[string]string `json:"tags,omitempty"`
	Trail string            `json:"trail"` // name
	// Author is that of the trail's commit, "" if unknown.
	Author string `json:"author,omitempty"`
	// Status is the artifact's state in the trail.
	Status evidence.Status `json:"status"`
	// Attestations are the latest of each name that count for the artifact: its own and those of the trail.
	Attestations []evidence.Entry `json:"attestations"`
	// Unapproved are the names of the flow's trails without independent approval, between the replaced artifact's and its
	// own. They are known only for an artifact in an environment.
	Unapproved []string `json:"unapproved_trails,omitempty"`
	// Shortfall is why the artifact is not compliant in the trail. Only explanations read it.
	Shortfall Shortfall `json:"shortfall,omitzero"`
}

// maxShortfall bounds the names of each kind in a Shortfall.
const maxShortfall = 10

// Shortfall has the attestations because of which an artifact is not compliant in its trail.
type Shortfall struct {
	// Failing are not compliant.
	Failing []string `json:"failing,omitempty"`
	// Findings are those of Failing, by name.
	Findings map[string]string `json:"findings,omitempty"`
	// Missing are required by the trail's template and were not reported.
	Missing []string `json:"missing,omitempty"`
	// Others is the number of further ones.
	Others int `json:"others,omitempty"`
}

// NewShortfall keeps the first names of each kind, so that snapshots stay small.
func NewShortfall(failing []evidence.Entry, missing []string) Shortfall {
	s := Shortfall{Missing: missing[:min(len(missing), maxShortfall)]}
	for _, entry := range failing[:min(len(failing), maxShortfall)] {
		s.Failing = append(s.Failing, entry.Name)
		if entry.Finding == "" {
			continue
		}
		if s.Findings == nil {
			s.Findings = map[string]string{}
		}
		s.Findings[entry.Name] = entry.Finding
	}
	s.Others = len(failing) + len(missing) - len(s.Failing) - len(s.Missing)
	return s
}

// Equal reports whether two shortfalls name the same attestations.
func (s *Shortfall) Equal(other *Shortfall) bool {
	if s == nil || other == nil {
		return s == other
	}
	return slices.Equal(s.Failing, other.Failing) && slices.Equal(s.Missing, other.Missing) && s.Others == other.Others
}

// Decision is a decision on a control.
type Decision struct {
	Entry evidence.Entry `json:"attestation"`
	Flow  string         `json:"flow"`  // name
	Trail string         `json:"trail"` // name
}

// subject is the subject of conditions; flow is nil for an artifact without provenance. The flow has the name that it had
// before it was archived, so that archiving changes no verdict.
func (f *Facts) subject(flow *Flow) *expression.Subject {
	subject := &expression.Subject{Name: f.Name, Fingerprint: f.Fingerprint}
	if flow != nil {
		subject.Flow = &expression.Flow{Name: evidence.FlowNameBeforeArchiving(flow.Name), Tags: flow.Tags}
	}
	return subject
}
