package audit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

// Evaluator evaluates a payload by the definition of a custom type, as attestation.Evaluate does. For
// packages of strangers it should have limits, as that of app/evaluation has. An error with the code
// evidence.Unavailable is of the machine that evaluates, and says nothing of the payload.
type Evaluator func(definition attestation.Definition, payload json.RawMessage) (attestation.Verdict, error)

// attestationFacts is what later checks read of an attestation.
type attestationFacts struct {
	flow, trail string // id and name
	control     string
	targets     []string
	entry       evidence.SlotEntry
}

// size is how many bytes of memory the facts of an attestation take that can be of any length.
func (f *attestationFacts) size() int64 {
	entry := &f.entry
	return lengthOf(f.flow, f.trail, f.control, entry.Name, entry.Type, entry.ID, entry.Overridden, entry.Finding, entry.Unapproved, entry.Fingerprint, entry.Commit) +
		lengthOf(f.targets...) + int64(len(f.targets))*stringHeader
}

// evaluateBuiltIn evaluates the payload of an attestation of a built-in type anew, by the rules of its
// type (docs/semantics.md 6.3). Of the payload it decodes no more than they read: the service does not
// examine the rest of everything that it stores. It is not ok if there is no such payload or rule.
func evaluateBuiltIn(a *evidence.Attestation, limit int64) (compliant, ok bool, err error) {
	of, builtIn := attestation.TypeOf(a.Type)
	content, sent := a.Payload[of.Member]
	if !builtIn || of.NewRuleInput == nil || !sent {
		return false, false, nil
	}
	if err := checkSize(content, of.NewRuleInput(), limit); err != nil {
		return false, false, fmt.Errorf("read its %s: %w", of.Member, err)
	}
	compliant, err = of.IsCompliant(a.Payload)
	return compliant, true, err
}

// dataAsSent returns the payload of a custom type as short as a client can have sent it: members of
// packages are indented, and stored JSON has escapes for HTML, but payloads have a greatest size.
func dataAsSent(stored json.RawMessage) (json.RawMessage, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, stored); err != nil || compact.Len() <= attestation.MaxPayload {
		return compact.Bytes(), err
	}
	return jsontext.AppendFormat(nil, stored, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}
