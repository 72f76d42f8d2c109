package attestation

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
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

// matching are the functions of jq whose first argument is a regular expression, with their fewest arguments.
var matching = map[string]int{"test": 1, "match": 1, "capture": 1, "scan": 1, "splits": 1, "split": 2, "sub": 2, "gsub": 2}

// checkPatterns returns an error for the first literal regular expression that is not valid in a rule that compiles, as
// jq only finds that when it matches a text. A rule that defines such a function itself is not checked.
func checkPatterns(source string) (fault error) {
	query, err := gojq.Parse(source)
	if err != nil {
		return err
	}
	defined := false
	visit(reflect.ValueOf(query), func(part any) {
		switch part := part.(type) {
		case gojq.FuncDef:
			defined = defined || matching[part.Name] > 0
		case gojq.Func:
			if fewest := matching[part.Name]; fault == nil && fewest > 0 && len(part.Args) >= fewest {
				fault = checkPattern(part.Args[0])
			}
		}
	})
	if defined {
		return nil
	}
	return fault
}

func checkPattern(argument *gojq.Query) error {
	var text string
	if json.Unmarshal([]byte(argument.String()), &text) != nil {
		return nil // it is no literal text
	}
	if _, err := syntax.Parse(text, syntax.Perl); err != nil {
		return fmt.Errorf("'%s' should be a valid regex", text)
	}
	return nil
}

// visit calls see with each struct in a value.
func visit(value reflect.Value, see func(any)) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			visit(value.Elem(), see)
		}
	case reflect.Slice:
		for i := range value.Len() {
			visit(value.Index(i), see)
		}
	case reflect.Struct:
		see(value.Interface())
		for i := range value.NumField() {
			visit(value.Field(i), see)
		}
	}
}

// memberPath matches the path of a member of the input, in a rule of paths, values and operators only.
var memberPath = regexp.MustCompile(`(?:\.[A-Za-z_][A-Za-z0-9_]*)+`)

// describeRule describes a rule that is not true. If it only compares members of the input, it lists their values.
func describeRule(source string, input any) string {
	said := "the rule asks for " + source
	if strings.ContainsAny(source, `|[]{}();$"?`) {
		return said
	}
	var values []string
	for _, path := range slices.Compact(memberPath.FindAllString(source, -1)) {
		value := input
		for _, step := range strings.Split(path[1:], ".") {
			object, _ := value.(map[string]any)
			value = object[step]
		}
		switch value.(type) {
		case nil:
			values = append(values, path[1:]+" is missing")
		case map[string]any, []any:
		default:
			values = append(values, fmt.Sprintf("%s is %v", path[1:], value))
		}
	}
	return strings.Join(append(values, said), ", ")
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
