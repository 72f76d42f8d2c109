package jsontext_test

import (
	"testing"

	"attestry/evidence/jsontext"
)

func TestNestingIsCountedOutsideOfStrings(t *testing.T) {
	for name, c := range map[string]struct {
		json   string
		deeper bool
	}{
		"at the limit":                 {`[{"a":1},[]]`, false},
		"beyond the limit":             {`[{"a":[]}]`, true},
		"beyond the limit, unfinished": {`[[[`, true},
		"brackets in a string":         {`[["[[[["]]`, false},
		"an escaped quote":             {`[["\"[[["]]`, false},
		"behind a string":              {`[["\\",[]]]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := jsontext.NestsDeeper([]byte(c.json), 2); got != c.deeper {
				t.Errorf("%s nests deeper than 2: %v", c.json, got)
			}
		})
	}
}
