// Package template is the grammar of flow templates (docs/semantics.md 3.2).
package template

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/independent"
)

// AnyType is the type of a requirement that any attestation fulfils.
const AnyType = "*"

// Template says what a trail must hold.
type Template struct {
	Version int   `json:"version"`
	Trail   Trail `json:"trail"`
}

// Trail lists what is required of the trail itself and of its artifacts.
type Trail struct {
	Attestations []Attestation `json:"attestations"`
	Artifacts    []Artifact    `json:"artifacts"`
}

// Artifact is an artifact that a trail must hold, by its reference name.
type Artifact struct {
	Name         string        `json:"name"`
	Attestations []Attestation `json:"attestations"`
}

// Attestation is an attestation that must be there.
type Attestation struct {
	Name string `json:"name"`
	// Type is a built-in type, custom:<name>, or AnyType.
	Type string `json:"type"`
	// Independent asks for approvals of a pull request, nil for none.
	Independent *independent.ApprovalRule `json:"independent_approval,omitempty"`
	// Separated asks that whoever makes a decision neither wrote nor approved the code.
	Separated bool `json:"separation_of_duties,omitempty"`
}

// FourEyes reports whether others than the authors have to have approved or decided.
func (a Attestation) FourEyes() bool { return a.Independent != nil || a.Separated }

// Artifact returns what is required of the artifact of that name.
func (t *Template) Artifact(name string) (Artifact, bool) {
	for _, artifact := range t.Trail.Artifacts {
		if artifact.Name == name {
			return artifact, true
		}
	}
	return Artifact{}, false
}

// FourEyes reports whether an attestation asks for them.
func (t *Template) FourEyes() bool {
	return slices.ContainsFunc(t.Trail.Attestations, Attestation.FourEyes) ||
		slices.ContainsFunc(t.Trail.Artifacts, func(a Artifact) bool { return slices.ContainsFunc(a.Attestations, Attestation.FourEyes) })
}

// Fits reports whether an attestation of a type fulfils the requirement.
func (a Attestation) Fits(kind string) bool {
	return a.Type == AnyType || a.Type == kind || evidence.SystemPrefix+a.Type == kind
}

// Empty is the content of the template that requires nothing.
const Empty = "version: 1\n"

// MaxSize is the greatest template, in bytes: some 20,000 requirements.
const MaxSize = 1 << 20

// ID is the id of a template, which follows from its content.
func ID(content []byte) string { return evidence.DerivedID(content) }
