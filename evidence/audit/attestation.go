package audit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

// Evaluator evaluates a payload by the definition of a custom type. For untrusted packages it should have limits, as
// that of app/evaluation. An error with the code evidence.Unavailable is one of the machine, not of the payload.
type Evaluator func(definition attestation.Definition, payload json.RawMessage) (attestation.Verdict, error)

// attestationFacts are the members of an attestation that later checks read.
type attestationFacts struct {
	flow, trail string // id and name
	control     string
	// controlVersion is 0 if the control did not exist.
	controlVersion int
	targets        []string
	entry          evidence.SlotEntry
}

// size is the memory of the members of variable length, in bytes.
func (f *attestationFacts) size() int64 {
	entry := &f.entry
	return lengthOf(f.flow, f.trail, f.control, entry.Name, entry.Type, entry.ID, entry.Overridden, entry.Finding, entry.Unapproved, entry.Fingerprint, entry.Commit) +
		lengthOf(f.targets...) + int64(len(f.targets))*stringHeader
}

// evaluateBuiltIn evaluates the payload of an attestation of a built-in type again (docs/semantics.md 6.3). It decodes
// only what the rule reads: the service stores the rest unvalidated. It is not ok without a payload or a rule.
func evaluateBuiltIn(a *evidence.Attestation, limit int64) (compliant, ok bool, err error) {
	builtIn, ok := attestation.TypeOf(a.Type)
	content, sent := a.Payload[builtIn.Member]
	if !ok || builtIn.NewRuleInput == nil || !sent {
		return false, false, nil
	}
	if err := checkSize(content, builtIn.NewRuleInput(), limit); err != nil {
		return false, false, fmt.Errorf("read its %s: %w", builtIn.Member, err)
	}
	compliant, err = builtIn.IsCompliant(a.Payload)
	return compliant, true, err
}

// dataAsSent returns the payload of a custom type in its shortest form. Members of packages are indented and stored
// JSON has escapes for HTML, so it may be longer than MaxPayload although the client's payload was not.
func dataAsSent(stored json.RawMessage) (json.RawMessage, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, stored); err != nil || compact.Len() <= attestation.MaxPayload {
		return compact.Bytes(), err
	}
	return jsontext.AppendFormat(nil, stored, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}
