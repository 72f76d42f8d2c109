// Package attestation holds the payloads of the attestation types, as clients send them, and the rules that evaluate
// them (docs/semantics.md 6.3 and 8.2). Struct tags beside the JSON ones describe payloads for the documentation and
// the validation of requests. A generic attestation has no payload: its verdict is the reported is_compliant.
package attestation

const (
	// MaxPayload is the greatest payload that is judged, in bytes of JSON.
	MaxPayload = 1 << 20
	// MaxDepth is how deep a payload may nest. Evaluation recurses, and Go ends a process whose stack is too large.
	MaxDepth = 100
)
