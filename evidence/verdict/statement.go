// Package verdict writes verdicts on artifacts as SLSA verification summaries in in-toto statements
// (docs/semantics.md 18.11).
package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// PayloadType is the media type of a statement in a DSSE envelope.
const PayloadType = "application/vnd.in-toto+json"

// Verdict says whether an artifact has passed, and by what.
type Verdict struct {
	Passed bool
	// Verifier is the URI of the service, Resource that of the artifact.
	Verifier, Resource string
	// Name and Fingerprint are those of the artifact; the fingerprint is its SHA-256 in hexadecimal digits.
	Name, Fingerprint string
	// At is written in whole seconds.
	At time.Time
	// PolicyURI identifies what has decided, PolicySum the SHA-256 of the file that it names, "" if it names no file.
	PolicyURI, PolicySum string
	// Policies are those that were applied, in their order.
	Policies []Policy
	// AllowlistID is the id of the entry of the allow list that has decided, "" for none.
	AllowlistID string
	// Inputs are all attestations that were evaluated, by their entries in the log; none if one of them has no entry.
	Inputs []Input
}

// Input is the entry of an attestation in the log.
type Input struct {
	URI    string
	Digest DigestSet // of the entry
	// Index is the place of the entry, from 0.
	Index int64
}

// Policy is a version of a policy.
type Policy struct {
	Name    string    `json:"name"`
	Version int       `json:"version"`
	URI     string    `json:"uri"`
	Digest  DigestSet `json:"digest"`
	// LogIndex is the place of the version in the log, from 0; nil if it has none.
	LogIndex *int64 `json:"log_index,omitempty"`
}

// DigestSet is the SHA-256 of a resource, in hexadecimal digits.
type DigestSet struct {
	SHA256 string `json:"sha256"`
}

// descriptor is a resource descriptor of in-toto.
type descriptor struct {
	Name        string       `json:"name,omitempty"`
	URI         string       `json:"uri,omitempty"`
	Digest      *DigestSet   `json:"digest,omitempty"`
	Annotations *annotations `json:"annotations,omitempty"`
}

// annotations are those of what has decided, which has Policies, or of an attestation, which has an index.
type annotations struct {
	Policies    *[]Policy `json:"policies,omitempty"`
	AllowlistID string    `json:"allowlist_id,omitempty"`
	LogIndex    *int64    `json:"log_index,omitempty"`
}

type statement struct {
	Type          string       `json:"_type"`
	Subject       []descriptor `json:"subject"`
	PredicateType string       `json:"predicateType"`
	Predicate     summary      `json:"predicate"`
}

type summary struct {
	Verifier           verifier     `json:"verifier"`
	TimeVerified       string       `json:"timeVerified"` // RFC 3339
	ResourceURI        string       `json:"resourceUri"`
	Policy             descriptor   `json:"policy"`
	InputAttestations  []descriptor `json:"inputAttestations,omitempty"`
	VerificationResult string       `json:"verificationResult"`
	VerifiedLevels     []string     `json:"verifiedLevels"`
	SLSAVersion        string       `json:"slsaVersion"`
}

type verifier struct {
	ID string `json:"id"`
}

// Statement writes the verdict as JSON; the same verdict has the same bytes.
func (v *Verdict) Statement() ([]byte, error) {
	result, level := "FAILED", "FAILED"
	if v.Passed {
		result, level = "PASSED", "SLSA_BUILD_LEVEL_UNEVALUATED" // policies do not evaluate levels of SLSA
	}
	policies := append([]Policy{}, v.Policies...) // never null
	policy := descriptor{URI: v.PolicyURI, Annotations: &annotations{Policies: &policies, AllowlistID: v.AllowlistID}}
	if v.PolicySum != "" {
		policy.Digest = &DigestSet{SHA256: v.PolicySum}
	}
	var inputs []descriptor
	for i := range v.Inputs {
		input := &v.Inputs[i]
		inputs = append(inputs, descriptor{URI: input.URI, Digest: &input.Digest, Annotations: &annotations{LogIndex: &input.Index}})
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(statement{
		Type: "https://in-toto.io/Statement/v1", Subject: []descriptor{{Name: v.Name, Digest: &DigestSet{SHA256: v.Fingerprint}}},
		PredicateType: "https://slsa.dev/verification_summary/v1",
		Predicate: summary{
			Verifier: verifier{ID: v.Verifier}, TimeVerified: v.At.UTC().Format(time.RFC3339), ResourceURI: v.Resource,
			Policy: policy, InputAttestations: inputs, VerificationResult: result, VerifiedLevels: []string{level}, SLSAVersion: "1.1",
		},
	}); err != nil {
		return nil, fmt.Errorf("encode a statement: %w", err)
	}
	return bytes.TrimSuffix(content.Bytes(), []byte("\n")), nil
}
