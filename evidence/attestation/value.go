package attestation

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"attestry/evidence"
)

// maxDigits bounds numbers, because the time to parse exact ones is quadratic in their length.
const maxDigits = 400

var errBadNumber = errors.New("number out of range")

// checkNumbers returns an error and the JSON pointer of a number beyond the limits.
func checkNumbers(value any) (at string, err error) {
	switch value := value.(type) {
	case json.Number:
		return "", checkNumber(value.String())
	case []any:
		for i, item := range value {
			if at, err := checkNumbers(item); err != nil {
				return pointer(strconv.Itoa(i)) + at, err
			}
		}
	case map[string]any:
		for name, item := range value {
			if at, err := checkNumbers(item); err != nil {
				return pointer(name) + at, err
			}
		}
	}
	return "", nil
}

func checkNumber(digits string) error {
	if len(digits) > maxDigits {
		return errBadNumber
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(digits), "e"); ok {
		if n, err := strconv.Atoi(exponent); err != nil || n > maxDigits || n < -maxDigits {
			return errBadNumber
		}
	}
	if number, err := strconv.ParseFloat(digits, 64); err != nil || math.IsInf(number, 0) {
		return errBadNumber
	}
	return nil
}

// normalize copies a value with the number types of jq. Integers stay exact.
func normalize(value any) any {
	switch value := value.(type) {
	case json.Number:
		return normalizeNumber(value.String())
	case []any:
		return evidence.Map(value, normalize)
	case map[string]any:
		members := make(map[string]any, len(value))
		for name, item := range value {
			members[name] = normalize(item)
		}
		return members
	default:
		return value
	}
}

func normalizeNumber(digits string) any {
	if number, err := strconv.Atoi(digits); err == nil {
		return number
	}
	if number, ok := new(big.Int).SetString(digits, 10); ok {
		return number
	}
	number, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return math.NaN()
	}
	return number
}
