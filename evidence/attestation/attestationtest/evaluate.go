// Package attestationtest evaluates payloads in the process of a test. The service does so in a child process.
package attestationtest

import (
	"encoding/json"

	"attestry/evidence/attestation"
)

// Evaluate evaluates a payload by a definition, with the errors of attestation.CompileSchema and
// attestation.EvaluateBy.
func Evaluate(definition attestation.Definition, data json.RawMessage) (attestation.Verdict, error) {
	if definition.Schema == nil {
		return attestation.EvaluateBy(nil, definition.Rules, data)
	}
	schema, err := attestation.CompileSchema(definition.Schema)
	if err != nil {
		return attestation.Verdict{}, err
	}
	return attestation.EvaluateBy(schema, definition.Rules, data)
}
