// Package verdict makes SLSA verification summaries of artifacts, in in-toto statements (docs/semantics.md 18.11).
package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// PayloadType is the media type of a statement in a DSSE envelope.
const PayloadType = "application/vnd.in-toto+json"

// Verdict is a verdict on an artifact, with the policies and the evidence that it is based on.
type Verdict struct {
	Passed bool
	// Verifier is the URI of the service, Resource that of the artifact.
	Verifier, Resource string
	// Name and Fingerprint are those of the artifact; the fingerprint is its SHA-256 in hexadecimal digits.
	Name, Fingerprint string
	// At is written in whole seconds.
	At time.Time
	// PolicyURI identifies the policies, the environment or the flow that decided. PolicySum is the SHA-256 of the
	// policy file that it names, "" if it names none.
	PolicyURI, PolicySum string
	// Policies are the applied policies, in their order.
	Policies []Policy
	// AllowlistID is the id of the allow list's entry that decided, "" for none.
	AllowlistID string
	// Inputs are the log entries of all evaluated attestations; none if one of them has no entry.
	Inputs []Input
}

// Input is the entry of an attestation in the log.
type Input struct {
	URI    string
	Digest DigestSet // of the entry
	Index  int64     // of the entry, from 0
}

// Policy is a version of a policy.
type Policy struct {
	Name    string    `json:"name"`
	Version int       `json:"version"`
	URI     string    `json:"uri"`
	Digest  DigestSet `json:"digest"`
	// LogIndex is the index of the version in the log, from 0; nil if it is not in the log.
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

// annotations are those of the policy descriptor, which has Policies, or of an attestation, which has LogIndex.
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

// Statement is the statement of the verdict as JSON. Equal verdicts have equal bytes.
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
