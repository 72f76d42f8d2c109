// Package attestation holds the payloads of the attestation types, in the shapes
// that clients send, and the rules that judge them (docs/semantics.md
// 6.3 and 8.2). The struct tags beside the JSON ones describe the payloads to
// whoever documents and validates requests.
//
// A generic attestation has no payload: the reported is_compliant is its verdict.
package attestation

const (
	// MaxPayload is the greatest payload that is judged, in bytes of JSON.
	MaxPayload = 1 << 20
	// MaxDepth is how deep a payload may nest. What judges it recurses, and Go
	// does not survive a stack without end; nobody's results come near it.
	MaxDepth = 100
)
