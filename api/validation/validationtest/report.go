// Package validationtest has a body for tests of how bodies are decoded and checked.
package validationtest

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Report is a body that is decoded in one strict pass.
type Report struct {
	Type      string     `json:"type,omitempty" enum:"things"`
	Artifacts []Artifact `json:"artifacts"`
}

// Artifact is an artifact of a Report.
type Artifact struct {
	Digests   map[string]Digest `json:"digests"`
	CreatedAt int64             `json:"creationTimestamp"`
}

// Digest is 64 hexadecimal digits.
type Digest string

// Schema implements huma.SchemaProvider.
func (Digest) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: "^[a-f0-9]{64}$"}
}

// Check reports whether the report is valid.
func (r *Report) Check() bool {
	if r.Artifacts == nil || r.Type != "" && r.Type != "things" {
		return false
	}
	for _, artifact := range r.Artifacts {
		if artifact.Digests == nil || artifact.CreatedAt == 0 {
			return false
		}
		for _, digest := range artifact.Digests {
			if len(digest) != 64 || strings.Trim(string(digest), "0123456789abcdef") != "" {
				return false
			}
		}
	}
	return true
}
