package validation

import (
	"maps"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func TestQueriesAreParsed(t *testing.T) {
	for raw, want := range map[string]url.Values{
		"":                               {},
		"&&":                             {},
		"a":                              {"a": {""}},
		"a=1&b=&a=2":                     {"a": {"1", "2"}, "b": {""}},
		"policy%5Fname=a%3Bb+c%26d=e%25": {"policy_name": {"a;b c&d=e%"}},
		"=1":                             {"": {"1"}},
	} {
		found := Findings{}
		if got := ParseQuery(raw, found); !reflect.DeepEqual(got, want) || len(found) > 0 {
			t.Errorf("%q: got %v and %v", raw, got, found)
		}
	}
}

func TestMalformedParametersAreFindings(t *testing.T) {
	for raw, want := range map[string]Findings{
		"policy_name=strict%":           {"query.policy_name": unescapableText + " [input: strict%]"},
		"policy%5Fname=strict%zz&a=1":   {"query.policy_name": unescapableText + " [input: strict%zz]"},
		"policy_name=a;b":               {"query.policy_name": semicolonText + " [input: a;b]"},
		"a=1;b=2":                       {"query.a": semicolonText + " [input: 1;b=2]"},
		"a=%4&a=1":                      {"query.a": unescapableText + " [input: %4]"},
		"na%me=1":                       {"query.na%me": unescapableText + " [input: 1]"},
		"a;b":                           {"query.a;b": semicolonText + " [input: ]"},
		"a=%&b=%":                       {"query.a": unescapableText + " [input: %]", "query.b": unescapableText + " [input: %]"},
		strings.Repeat("n", 300) + "=%": {"query." + strings.Repeat("n", MaxShown) + "...": unescapableText + " [input: %]"},
	} {
		found := Findings{}
		ParseQuery(raw, found)
		if !maps.Equal(found, want) {
			t.Errorf("%q:\n got %v\nwant %v", raw, found, want)
		}
	}
}
