package attestation

import "encoding/json"

// Decision is the payload of the system type decision, with the verdict (docs/semantics.md 6.5).
type Decision struct {
	IsCompliant bool `json:"is_compliant"`
}

// UnmarshalJSON decodes what ReadDecision accepts, so that every evaluation has the verdict that was recorded. Without
// it, a member whose name differs only by case, as that of a long s does, would be read as is_compliant.
func (d *Decision) UnmarshalJSON(data []byte) (err error) {
	*d, err = ReadDecision(data)
	return err
}

// Compliant returns the verdict that was reported.
func (d *Decision) Compliant() bool { return d.IsCompliant }

const (
	// DecisionName and DecisionVersion identify the only system type.
	DecisionName    = "decision"
	DecisionVersion = 1
)

// DecisionSchema is the JSON Schema of a decision's attestation_data.
var DecisionSchema = json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",` +
	`"properties":{"is_compliant":{"type":"boolean"}},"required":["is_compliant"]}`)

// ReadDecision decodes the result of ReadData, or returns an Invalid error with the faults of attestation_data. Other
// members than is_compliant are accepted, as by the schema.
func ReadDecision(data json.RawMessage) (Decision, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members == nil {
		return Decision{}, dataError("", objectText, data)
	}
	verdict, sent := members["is_compliant"]
	if !sent {
		return Decision{}, dataError("is_compliant", missingText, nil)
	}
	var decision Decision
	if string(verdict) == "null" || json.Unmarshal(verdict, &decision.IsCompliant) != nil {
		return Decision{}, dataError("is_compliant", "Input should be a valid boolean", verdict)
	}
	return decision, nil
}
