package attestation

import (
	"encoding/json"
	"fmt"

	"attestry/evidence"
)

// maxRules bounds the rules of a type, and the items of its summary.
const maxRules = 100

// Definition is the definition of a version of a custom type.
type Definition struct {
	// Schema is the JSON Schema of payloads, or nil.
	Schema json.RawMessage
	// Rules are jq expressions, each of which must give true.
	Rules []string
	// Summary is what clients show of a payload. Check compiles its expressions; EvaluateBy does not use them.
	Summary []evidence.SummaryItem
}

// Verdict is the result of evaluating a payload by a definition.
type Verdict struct {
	Compliant bool
	// Reasons name the rules that are not true, and why. They are for the log and contain nothing of the payload.
	Reasons []string
	// Failed describes the first rule that is not true, with the values that it compares.
	Failed string
}

// Check returns an Invalid error with the faults of the definition, or nil if payloads can be evaluated by it.
//
// A hostile definition can make Check and EvaluateBy take any amount of time and memory. So they must run in a child
// process: app/evaluation provides one.
func Check(definition Definition) error {
	found := map[string]string{}
	checkExpressions(found, "evaluator.rules", "", definition.Rules)
	expressions := evidence.Map(definition.Summary, func(item evidence.SummaryItem) string { return item.Expression })
	checkExpressions(found, "summary", ".expression", expressions)
	if definition.Schema != nil {
		schema, err := compileSchema(definition.Schema)
		if err == nil {
			err = checkLoops(schema.root)
		}
		if err != nil {
			found["type_schema"] = "Input should be a valid JSON Schema: " + err.Error() + " [input: type_schema]"
		}
	}
	if len(found) > 0 {
		return evidence.ValidationError(found)
	}
	return nil
}

// checkExpressions adds the faults of jq expressions, which are the items of a list or a member of each item.
func checkExpressions(found map[string]string, list, member string, expressions []string) {
	if len(expressions) > maxRules {
		found[list] = fmt.Sprintf("List should have at most %d items [input: %d]", maxRules, len(expressions))
		return
	}
	for i, source := range expressions {
		_, err := compileRule(source)
		if err == nil {
			err = checkPatterns(source)
		}
		if err != nil {
			found[fmt.Sprintf("%s[%d]%s", list, i, member)] =
				"Input should be a valid jq expression: " + cut(err.Error()) + " [input: " + cut(source) + "]"
		}
	}
}

// EvaluateBy evaluates a payload by a schema, which may be nil, and rules. A payload that does not fit the schema is an
// Invalid error with the violations, by attestation_data followed by a JSON pointer. A rule is true only if it gives
// true and nothing else, without an error and within the steps for a payload. ErrTooMuchWork means that it takes too
// much work to compare the payload with the schema. Any other error means that a rule does not compile.
func EvaluateBy(schema *Schema, rules []string, data json.RawMessage) (Verdict, error) {
	payload, err := decode(data)
	if err != nil {
		return Verdict{}, err
	}
	if schema != nil {
		if err := validate(schema, payload); err != nil {
			return Verdict{}, err
		}
	}
	verdict := Verdict{Compliant: true}
	input, budget := normalize(payload), newSteps()
	for i, source := range rules {
		code, err := compileRule(source)
		if err != nil {
			return Verdict{}, fmt.Errorf("compile rule %d: %w", i+1, err)
		}
		if reason := run(code, budget, input); reason != "" {
			if verdict.Compliant {
				verdict.Failed = describeRule(source, input)
			}
			verdict.Compliant = false
			verdict.Reasons = append(verdict.Reasons, fmt.Sprintf("rule %d %s", i+1, reason))
		}
	}
	return verdict, nil
}
