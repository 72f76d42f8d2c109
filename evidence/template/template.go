// Package template is the grammar of flow templates (docs/semantics.md 3.2).
package template

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/independent"
)

// AnyType is the type of a requirement that any attestation fulfils.
const AnyType = "*"

// Template has the artifacts and attestations that a trail must have.
type Template struct {
	Version int   `json:"version"`
	Trail   Trail `json:"trail"`
}

// Trail has the required attestations of the trail itself, and the required artifacts.
type Trail struct {
	Attestations []Attestation `json:"attestations"`
	Artifacts    []Artifact    `json:"artifacts"`
}

// Artifact is a required artifact, by its reference name.
type Artifact struct {
	Name         string        `json:"name"`
	Attestations []Attestation `json:"attestations"`
}

// Attestation is a required attestation.
type Attestation struct {
	Name string `json:"name"`
	// Type is a built-in type, custom:<name>, or AnyType.
	Type string `json:"type"`
	// Independent requires approvals of a pull request, nil for none.
	Independent *independent.ApprovalRule `json:"independent_approval,omitempty"`
	// Separated requires that whoever makes a decision neither wrote nor approved the code.
	Separated bool `json:"separation_of_duties,omitempty"`
}

// FourEyes reports whether the attestation requires independent approval or the separation of duties.
func (a Attestation) FourEyes() bool { return a.Independent != nil || a.Separated }

// Artifact returns the required artifact of a name.
func (t *Template) Artifact(name string) (Artifact, bool) {
	return evidence.First(t.Trail.Artifacts, func(artifact Artifact) bool { return artifact.Name == name })
}

// FourEyes reports whether a required attestation has FourEyes.
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

// MaxSize bounds a template, in bytes: some 20,000 requirements. It is less than the 10 MiB of other files, because
// templates are read at every report and cached, and parsed ones take up several times as much.
const MaxSize = 1 << 20

// ID is the id of a template, derived from its content.
func ID(content []byte) string { return evidence.DerivedID(content) }
