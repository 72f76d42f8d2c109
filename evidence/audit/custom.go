package audit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/itchyny/gojq"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

// maxFailed is how many payloads of custom types may fail, each of which can use up the limits.
const maxFailed = 10

type customType struct {
	version    int
	definition attestation.Definition
	// varies tells that its rules may come to something else at another time or on another machine.
	varies bool
}

// pendingVerdict is the verdict of a custom type that is evaluated when all members are known.
type pendingVerdict struct {
	path, typePath string
	compliant      bool
	data           json.RawMessage
}

// checkCustom compares a verdict with what its payload comes to. Of versions that the service has
// lost, the package has no definition. An evaluation that was not available, such as one whose process
// the system has killed, counts towards maxFailed, as it can have used much.
func (v *Verifier) checkCustom(verdict *pendingVerdict) error {
	custom := v.types[verdict.typePath]
	if custom == nil || custom.varies || v.failed >= maxFailed {
		v.notEvaluated++
		return nil
	}
	data, err := dataAsSent(verdict.data)
	if err != nil {
		return fmt.Errorf("read its %s: %w", attestation.DataMember, err)
	}
	came, err := v.evaluator(custom.definition, data)
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
	return compareVerdicts(verdict.compliant, came.Compliant)
}

// varying are the functions of jq whose value depends on when or where they are evaluated.
var varying = []string{"now", "localtime", "strflocaltime", "env", "$ENV", "input_filename"}

// varies reports whether a rule calls such a function. One that cannot be parsed does not.
func varies(rule string) (found bool) {
	defer func() {
		if recover() != nil {
			found = false
		}
	}()
	if len(rule) > attestation.MaxRule { // it cannot be evaluated
		return false
	}
	query, err := gojq.Parse(rule)
	return err == nil && callsVarying(reflect.ValueOf(query))
}

func callsVarying(part reflect.Value) bool {
	if call, ok := reflect.TypeAssert[*gojq.Func](part); ok && call != nil && slices.Contains(varying, call.Name) {
		return true
	}
	switch part.Kind() {
	case reflect.Pointer:
		return !part.IsNil() && callsVarying(part.Elem())
	case reflect.Struct:
		for _, field := range part.Fields() {
			if callsVarying(field) {
				return true
			}
		}
	case reflect.Slice:
		for i := range part.Len() {
			if callsVarying(part.Index(i)) {
				return true
			}
		}
	}
	return false
}
