package evidence

import "encoding/json"

// AttestationType is a custom type without its versions (docs/semantics.md 8.1).
type AttestationType struct {
	Org  string `json:"org"`
	Name string `json:"name"`
	// Description is that of the latest version, or nil.
	Description *string `json:"description,omitempty"`
	Archived    bool    `json:"archived"`
	CreatedBy   string  `json:"created_by"`
	CreatedAt   float64 `json:"created_at"`
	// LastModifiedAt is when the latest version was made or the type was archived.
	LastModifiedAt float64 `json:"last_modified_at"`
	// Latest is the number of the latest version. Versions are numbered from 1.
	Latest int `json:"latest"`
}

// AttestationTypeVersion is a version of a custom attestation type.
type AttestationTypeVersion struct {
	Org       string  `json:"org"`
	Name      string  `json:"name"`
	Version   int     `json:"version"`
	Timestamp float64 `json:"timestamp"`
	CreatedBy string  `json:"created_by"`
	// Description is that of the type from this version on.
	Description *string `json:"description,omitempty"`
	// Schema is the JSON Schema of payloads, or nil. SchemaObject is the key of a large one in the object store.
	Schema       json.RawMessage `json:"schema,omitempty"`
	SchemaObject string          `json:"schema_object,omitempty"`
	// Evaluator is nil when null was sent.
	Evaluator *Evaluator    `json:"evaluator,omitempty"`
	Summary   []SummaryItem `json:"summary,omitempty"`
}

// ObjectKeys returns the keys of the objects that the version names.
func (v *AttestationTypeVersion) ObjectKeys() []string { return []string{v.SchemaObject} }

// The kinds of evaluators: jq rules, or none.
const (
	JQEvaluator      = "jq"
	DefaultEvaluator = "default"
)

// Evaluator evaluates payloads. Each of its jq rules must give true.
type Evaluator struct {
	ContentType string   `json:"content_type"`
	Rules       []string `json:"rules,omitempty"`
}

// SummaryItem is a jq expression whose value clients show for a payload.
type SummaryItem struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// Rules are the jq rules of the evaluator; none with the default evaluator.
func (v *AttestationTypeVersion) Rules() []string {
	if v.Evaluator == nil {
		return nil
	}
	return v.Evaluator.Rules
}
