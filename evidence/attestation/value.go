package attestation

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

const (
	// maxDigits bounds numbers, which libraries turn into exact ones: that takes
	// the square of their length.
	maxDigits = 400
	// maxBits is what arithmetic may let them grow to.
	maxBits = 1 << 14
	// maxValues, maxText and maxNesting bound a value that a jq function gets, all
	// that it refers to counted each time it is referred to: jq can make a value
	// that unfolds to more than any memory holds.
	maxValues  = 1 << 20
	maxText    = 2 << 20
	maxNesting = 1000
)

var (
	errTooLarge  = errors.New("the value is too large")
	errBadNumber = errors.New("number out of range")
)

// checkNumbers tells whether all numbers of a decoded value can be handled.
func checkNumbers(value any) error {
	switch value := value.(type) {
	case json.Number:
		return checkNumber(value.String())
	case []any:
		for _, item := range value {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range value {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	}
	return nil
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

// measure walks a value as a whole, charging the meter, and returns how many
// values and how many bytes of text it unfolds to.
func (m *meter) measure(value any) (values, text int64, err error) {
	w := walk{meter: m}
	err = w.take(value, 0)
	return w.values, w.text, err
}

type walk struct {
	meter        *meter
	values, text int64
}

func (w *walk) take(value any, depth int) error {
	w.values++
	if !w.meter.spend(1) {
		return errWorkDone
	}
	if w.values > maxValues || depth > maxNesting {
		return errTooLarge
	}
	switch value := value.(type) {
	case string:
		return w.takeText(value)
	case json.Number:
		return checkNumber(value.String())
	case *big.Int:
		if value.BitLen() > maxBits {
			return errTooLarge
		}
	case []any:
		for _, item := range value {
			if err := w.take(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, item := range value {
			if err := w.takeText(name); err != nil {
				return err
			}
			if err := w.take(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walk) takeText(text string) error {
	w.text += int64(len(text))
	if !w.meter.spend(int64(len(text)) / 16) {
		return errWorkDone
	}
	if w.text > maxText {
		return errTooLarge
	}
	return nil
}
