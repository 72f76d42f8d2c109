package attestation

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// MaxRule bounds a rule or expression, in bytes.
const MaxRule = 10_000

// compileRule compiles jq. The error is for the client.
func compileRule(source string) (code *gojq.Code, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("not a jq expression that can be compiled")
		}
	}()
	if len(source) > MaxRule {
		return nil, fmt.Errorf("longer than %d bytes", MaxRule)
	}
	if strings.TrimSpace(source) == "" {
		return nil, errors.New("empty")
	}
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, err
	}
	if len(query.Imports) > 0 || query.Meta != nil {
		return nil, errors.New("modules are not available")
	}
	return gojq.Compile(query)
}

// literalPattern matches a call of a function of jq whose first argument is a regular expression, if that is literal.
var literalPattern = regexp.MustCompile(`\b(?:test|match|capture|scan|splits|g?sub)\(\s*("(?:[^"\\]|\\.)*")\s*[;)]`)

// checkPatterns returns an error for the first invalid regular expression that a rule has as a literal: jq finds it
// only when it matches a text. A rule with definitions is not checked, as it may define such a function.
func checkPatterns(source string) error {
	if strings.Contains(source, "def ") {
		return nil
	}
	for _, call := range literalPattern.FindAllStringSubmatch(source, -1) {
		var text string
		if json.Unmarshal([]byte(call[1]), &text) != nil {
			continue // a part of it is computed
		}
		if _, err := syntax.Parse(text, syntax.Perl); err != nil {
			return fmt.Errorf("'%s' should be a valid regex", text)
		}
	}
	return nil
}

// memberPath matches the path of a member of the input, in a rule of paths, values and operators only.
var memberPath = regexp.MustCompile(`(?:\.[A-Za-z_][A-Za-z0-9_]*)+`)

// describeRule describes a rule that is not true. If it only compares members of the input, it lists their values, until
// the text is longer than any payload: a rule may have one long value hundreds of times.
func describeRule(source string, input any) string {
	said := "the rule asks for " + source
	if strings.ContainsAny(source, `|[]{}();$"?`) {
		return said
	}
	var values strings.Builder
	for _, path := range slices.Compact(memberPath.FindAllString(source, -1)) {
		if values.Len() > MaxPayload {
			break
		}
		value := input
		for _, step := range strings.Split(path[1:], ".") {
			object, _ := value.(map[string]any)
			value = object[step]
		}
		switch value.(type) {
		case nil:
			values.WriteString(path[1:] + " is missing, ")
		case map[string]any, []any:
		default:
			fmt.Fprintf(&values, "%s is %v, ", path[1:], value)
		}
	}
	return values.String() + said
}

// run returns why a rule does not give exactly true, for the log, or "".
func run(code *gojq.Code, budget *steps, input any) (reason string) {
	defer func() {
		if recover() != nil {
			reason = "fails"
		}
	}()
	results := code.RunWithContext(budget, input)
	for count := 0; ; count++ {
		result, more := results.Next()
		switch verdict := result.(type) {
		case error:
			if budget.spent() {
				return "takes too many steps"
			}
			return "fails"
		case bool:
			if !verdict {
				return "is not true"
			}
		default:
			if more {
				return "gives no boolean"
			}
			if count == 0 {
				return "gives nothing"
			}
			return ""
		}
	}
}
