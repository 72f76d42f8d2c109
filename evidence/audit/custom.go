package audit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/itchyny/gojq"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

// maxFailed bounds the failed evaluations of custom types, as each of them can use up the evaluator's limits.
const maxFailed = 10

type customType struct {
	version    int
	definition attestation.Definition
	// nondeterministic tells that its rules may have other results at another time or on another machine.
	nondeterministic bool
}

// pendingVerdict is the verdict of a custom type whose definition was not read yet.
type pendingVerdict struct {
	path, typePath string
	compliant      bool
	data           json.RawMessage
}

// checkCustom evaluates a payload and compares the verdict. The package has no definition of a version that the service
// has lost. An unavailable evaluation, such as one whose process was killed, counts as failed: it may have used much.
func (v *Verifier) checkCustom(verdict *pendingVerdict) error {
	custom := v.types[verdict.typePath]
	if custom == nil || custom.nondeterministic || v.failed >= maxFailed {
		v.notEvaluated++
		return nil
	}
	data, err := dataAsSent(verdict.data)
	if err != nil {
		return fmt.Errorf("read its %s: %w", attestation.DataMember, err)
	}
	computed, err := v.evaluator(custom.definition, data)
	if err != nil {
		v.failed++
	}
	if evidence.CodeOf(err) == evidence.Unavailable {
		v.notEvaluated++
		return nil
	}
	if err != nil {
		return fmt.Errorf("evaluate it by version %d of its type: %w", custom.version, err)
	}
	return compareVerdicts(verdict.compliant, computed.Compliant)
}

// nondeterministicFuncs are the functions of jq whose value depends on when or where they are evaluated.
var nondeterministicFuncs = []string{"now", "localtime", "strflocaltime", "env", "$ENV", "input_filename"}

// zoneName matches the directives of strptime for the name of a time zone. The machine's own zone determines its offset.
var zoneName = regexp.MustCompile(`%\W*[Z+]`)

// isNondeterministic reports whether a rule calls such a function. A rule that cannot be parsed does not.
func isNondeterministic(rule string) (found bool) {
	defer func() {
		if recover() != nil {
			found = false
		}
	}()
	if len(rule) > attestation.MaxRule { // it cannot be evaluated
		return false
	}
	query, err := gojq.Parse(rule)
	funcs := nondeterministicFuncs
	if zoneName.MatchString(rule) {
		funcs = append(slices.Clone(funcs), "strptime")
	}
	return err == nil && calls(reflect.ValueOf(query), funcs)
}

func calls(part reflect.Value, funcs []string) bool {
	if call, ok := reflect.TypeAssert[*gojq.Func](part); ok && call != nil && slices.Contains(funcs, call.Name) {
		return true
	}
	switch part.Kind() {
	case reflect.Pointer:
		return !part.IsNil() && calls(part.Elem(), funcs)
	case reflect.Struct:
		for _, field := range part.Fields() {
			if calls(field, funcs) {
				return true
			}
		}
	case reflect.Slice:
		for i := range part.Len() {
			if calls(part.Index(i), funcs) {
				return true
			}
		}
	}
	return false
}
