package attestation

import (
	"errors"
	"fmt"
	"strings"

	"github.com/itchyny/gojq"
)

// maxRule is the greatest rule or expression, in bytes.
const maxRule = 10_000

// compileRule compiles jq. The error is for the client.
func compileRule(source string) (code *gojq.Code, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("not a jq expression that can be compiled")
		}
	}()
	if len(source) > maxRule {
		return nil, fmt.Errorf("longer than %d bytes", maxRule)
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

// run returns why a rule does not give true alone, for the log, or "".
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
				return errSteps.Error()
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
