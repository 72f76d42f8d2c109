package attestation

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxDigits bounds numbers, which libraries turn into exact ones: that takes the
// square of their length.
const maxDigits = 400

var errBadNumber = errors.New("number out of range")

// checkNumbers returns the first number of a decoded value that cannot be handled,
// as an error and the number's JSON pointer; nil when all can.
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

// normalize turns the numbers of a decoded value into those of jq: integers stay
// exact, of whatever size. It makes a new value.
func normalize(value any) any {
	switch value := value.(type) {
	case json.Number:
		return normalizeNumber(value.String())
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = normalize(item)
		}
		return items
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
