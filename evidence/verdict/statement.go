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
}

// Policy is a version of a policy.
type Policy struct {
	Name    string    `json:"name"`
	Version int       `json:"version"`
	URI     string    `json:"uri"`
	Digest  DigestSet `json:"digest"`
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

type annotations struct {
	Policies    []Policy `json:"policies"`
	AllowlistID string   `json:"allowlist_id,omitempty"`
}

type statement struct {
	Type          string       `json:"_type"`
	Subject       []descriptor `json:"subject"`
	PredicateType string       `json:"predicateType"`
	Predicate     summary      `json:"predicate"`
}

type summary struct {
	Verifier           verifier   `json:"verifier"`
	TimeVerified       string     `json:"timeVerified"` // RFC 3339
	ResourceURI        string     `json:"resourceUri"`
	Policy             descriptor `json:"policy"`
	VerificationResult string     `json:"verificationResult"`
	VerifiedLevels     []string   `json:"verifiedLevels"`
	SLSAVersion        string     `json:"slsaVersion"`
}

type verifier struct {
	ID string `json:"id"`
}

// Statement writes the verdict as JSON; the same verdict has the same bytes. It names no attestations that were
// verified: a list would have to be complete, with digests that attestations do not have.
func (v *Verdict) Statement() ([]byte, error) {
	result, level := "FAILED", "FAILED"
	if v.Passed {
		result, level = "PASSED", "SLSA_BUILD_LEVEL_UNEVALUATED" // policies do not evaluate levels of SLSA
	}
	policy := descriptor{URI: v.PolicyURI, Annotations: &annotations{Policies: v.Policies, AllowlistID: v.AllowlistID}}
	if v.PolicySum != "" {
		policy.Digest = &DigestSet{SHA256: v.PolicySum}
	}
	if v.Policies == nil {
		policy.Annotations.Policies = []Policy{}
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(statement{
		Type: "https://in-toto.io/Statement/v1", Subject: []descriptor{{Name: v.Name, Digest: &DigestSet{SHA256: v.Fingerprint}}},
		PredicateType: "https://slsa.dev/verification_summary/v1",
		Predicate: summary{
			Verifier: verifier{ID: v.Verifier}, TimeVerified: v.At.UTC().Format(time.RFC3339), ResourceURI: v.Resource,
			Policy: policy, VerificationResult: result, VerifiedLevels: []string{level}, SLSAVersion: "1.1",
		},
	}); err != nil {
		return nil, fmt.Errorf("encode a statement: %w", err)
	}
	return bytes.TrimSuffix(content.Bytes(), []byte("\n")), nil
}
