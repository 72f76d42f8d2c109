package expression_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/evidence/expression"
)

// token has claims as CI services send them.
const token = `{
	"iss": "https://ci.example.com", "sub": "repo:acme/shop:ref:refs/heads/main", "aud": ["attestry", "other"],
	"repository": "acme/shop", "ref_protected": true, "fork": false, "run_attempt": 2, "run_id": 12345678901234567890,
	"ratio": 1.50, "large": 1e3, "nothing": null, "empty": "", "groups": ["core", "7", 8, true], "none": [],
	"mixed": ["core", {"a": 1}], "nested": [["core"]], "audience": "attestry",
	"kubernetes.io": {"namespace": "build", "serviceaccount": {"name": "ci"}, "pods": ["a", "b"]},
	"https://example.com/role": "admin", "a-b~c": "odd", "x": {}
}`

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var decoded map[string]any
	evidencetest.Must(t, decoder.Decode(&decoded))
	return decoded
}

func flatten(t *testing.T, text string) expression.Claims {
	t.Helper()
	claims, err := expression.FlattenClaims(decode(t, text))
	evidencetest.Must(t, err)
	return claims
}

func TestConditionsOverClaimsAreEvaluated(t *testing.T) {
	claims := flatten(t, token)
	for text, want := range map[string]bool{
		`true`:                             true,
		`claims.repository == "acme/shop"`: true,
		`claims.repository == "acme/shop" and claims.ref_protected == "true"`:   true,
		`claims.repository == "acme/shop" and claims.fork == "true"`:            false,
		`claims.fork == "false" or claims.none == "x"`:                          true,
		`not claims.fork == "true"`:                                             true,
		`matches(claims.sub, "repo:acme/[a-z]+:")`:                              true,
		`matches(claims.absent, ".*")`:                                          false,
		`claims.repository in ["acme/shop", "acme/web"]`:                        true,
		`claims.repository not in ["acme/shop"]`:                                false,
		`claims.run_attempt == 2`:                                               true,
		`claims.run_attempt == "2"`:                                             true,
		`claims.run_attempt < 3`:                                                true,
		`claims.run_id == "12345678901234567890"`:                               true,
		`claims.ratio == "1.50"`:                                                true,
		`claims.ratio == 1.5`:                                                   true,
		`claims.large == "1e3"`:                                                 true,
		`claims.kubernetes.io.namespace == "build"`:                             true,
		`claims.kubernetes.io.serviceaccount.name == "ci"`:                      true,
		`"b" in claims.kubernetes.io.pods`:                                      true,
		`claims.a-b~c == "odd"`:                                                 true,
		`exists(claims.repository)`:                                             true,
		`exists(claims.empty)`:                                                  true,
		`exists(claims.absent)`:                                                 false,
		`exists(claims.nothing)`:                                                false,
		`exists(claims.kubernetes.io)`:                                          false,
		`exists(claims.x)`:                                                      false,
		`exists(claims.groups)`:                                                 true,
		`exists(claims.none)`:                                                   true,
		`exists(claims.mixed)`:                                                  false,
		`claims.absent == "acme/shop"`:                                          false,
		`claims.absent != "acme/shop"`:                                          true,
		`claims.absent == claims.nothing`:                                       true,
		`"core" in claims.groups`:                                               true,
		`"core" in (claims.groups)`:                                             true,
		`"web" in claims.groups`:                                                false,
		`"web" not in claims.groups`:                                            true,
		`"8" in claims.groups`:                                                  true,
		`"true" in claims.groups`:                                               true,
		`claims.audience in claims.aud`:                                         true,
		`"attestry" in claims.audience`:                                         true,
		`"att" in claims.audience`:                                              false,
		`"core" in claims.none`:                                                 false,
		`"core" in claims.absent`:                                               false,
		`"core" in claims.mixed`:                                                false,
		`"core" in claims.nested`:                                               false,
		`claims.groups in claims.groups`:                                        false,
		`claims.groups == "core"`:                                               false,
		`matches(claims.groups, "core")`:                                        false,
		`claims.repository in [claims.absent, claims.repository]`:               true,
		`claims.fork == "false" and (claims.x == "1" or "other" in claims.aud)`: true,
		`claims.iss == "https://ci.example.com" and not exists(claims.impersonation)`: true,
	} {
		t.Run(text, func(t *testing.T) {
			parsed, err := expression.ParseClaims(text)
			evidencetest.Must(t, err)
			if got, err := parsed.Evaluate(claims); err != nil || got != want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestComparingOtherClaimsWithNumbersIsAnError(t *testing.T) {
	for _, text := range []string{`claims.repository < 3`, `claims.large > 1`, `3 in claims.groups`, `true and claims.sub == 1`} {
		t.Run(text, func(t *testing.T) {
			parsed, err := expression.ParseClaims(text)
			evidencetest.Must(t, err)
			if got, err := parsed.Evaluate(flatten(t, token)); err == nil {
				t.Errorf("it is %v", got)
			}
		})
	}
}

func TestFaultyConditionsOverClaimsAreRefusedWithTheirPosition(t *testing.T) {
	const known = " is unknown: there are claims.<name>, exists(), matches(), true, false, and, or, not, in"
	for text, want := range map[string]string{
		`flow.name == "a"`:                   "column 1: 'flow.name'" + known,
		`exists(flow)`:                       "column 8: 'flow'" + known,
		`true and artifact.name == "a"`:      "column 10: 'artifact.name'" + known,
		`claims == "a"`:                      "column 1: 'claims'" + known,
		`claims. == "a"`:                     "column 1: 'claims.'" + known,
		`claim.sub == "a"`:                   "column 1: 'claim.sub'" + known,
		`claims.ref_protected`:               "column 1: the result must be a boolean, not a string",
		`claims.ref_protected == true`:       "column 1: a string cannot be compared with a boolean",
		`claims.https://example.com == "a"`:  "column 13: unexpected character ':'",
		`claims.groups in "core"`:            "column 18: the right side of 'in' must be a list, not a string",
		`"core" in [claims.groups, ["a"]]`:   "column 27: an item of a list cannot be a list",
		`claims.sub == ["a"]`:                "column 15: a list cannot be compared with '=='",
		`matches("a" in claims.groups, "a")`: "column 9: the first argument of matches() must be a string, not a boolean",
		`matches(claims.sub, "(")`:           "column 21: the regular expression is not valid: missing closing ): `(`",
		`claims.sub == "a`:                   "column 15: the string has no closing quote",
		``:                                   "column 1: expected a value, found the end of the expression",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := expression.ParseClaims(text)
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestConditionsThatHoldWithoutClaimsDoNotRestrict(t *testing.T) {
	for text, want := range map[string]bool{
		`true`: false, `claims.a != "x"`: false, `not exists(claims.a)`: false, `claims.a == "x" or claims.b not in ["y"]`: false,
		`claims.a == "x"`: true, `claims.a < 3`: true, `exists(claims.a) and claims.b != "x"`: true, `false`: true,
	} {
		condition, err := expression.ParseClaims(text)
		evidencetest.Must(t, err)
		if got := condition.Restricts(); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}

func TestClaimsOfTheSameNameAreRefused(t *testing.T) {
	for _, text := range []string{
		`{"a.b": "1", "a": {"b": "2"}}`, `{"a": {"b.c": "1", "b": {"c": "2"}}}`, `{"a.b": ["1"], "a": {"b": "2"}}`,
		`{"a.b": "1", "a": {"b": "1"}}`,
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := expression.FlattenClaims(decode(t, text)); err == nil {
				t.Error("they are accepted")
			}
		})
	}
	flatten(t, `{"a.b": null, "a": {"b": "1", "c": {}}, "a.c": "2"}`)
}

func TestTooManyAndTooDeepClaimsAreRefused(t *testing.T) {
	members := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"c%d": 1`, i))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	list := func(n int) string { return `{"list": [` + strings.TrimSuffix(strings.Repeat("1,", n), ",") + `]}` }
	nested := func(depth int) string { return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth) }
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"as many as allowed":     {members(1000), true},
		"one too many":           {members(1001), false},
		"as many items":          {list(999), true},
		"one item too many":      {list(1000), false},
		"as deep as allowed":     {nested(10), true},
		"one level too deep":     {nested(11), false},
		"very deep":              {nested(9000), false},
		"none":                   {`{}`, true},
		"many in nested objects": {`{"a": ` + members(600) + `, "b": ` + members(600) + `}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := expression.FlattenClaims(decode(t, c.text)); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzParseClaims(f *testing.F) {
	f.Add(`claims.repository == "acme/shop" and "core" in claims.groups`, token)
	f.Add(`exists(claims.a.b) or claims.n < 3`, `{"a": {"b": [1, "x"]}, "n": 1e400}`)
	f.Add(`matches(claims.a, "x") or claims.a not in ["y"]`, `{"a.b": 1, "a": {"b": {}}}`)
	f.Fuzz(func(t *testing.T, text, token string) {
		decoder := json.NewDecoder(strings.NewReader(token))
		decoder.UseNumber()
		var decoded map[string]any
		if decoder.Decode(&decoded) != nil {
			return
		}
		claims, flattenErr := expression.FlattenClaims(decoded)
		// The order of map iteration differs each time.
		if again, err := expression.FlattenClaims(decoded); fmt.Sprint(again) != fmt.Sprint(claims) || (err == nil) != (flattenErr == nil) {
			t.Errorf("flattened to %v (%v), then to %v (%v)", claims, flattenErr, again, err)
		}
		parsed, err := expression.ParseClaims(text)
		if err != nil || flattenErr != nil {
			return
		}
		first, firstErr := parsed.Evaluate(claims)
		again, againErr := parsed.Evaluate(claims)
		if first != again || (firstErr == nil) != (againErr == nil) {
			t.Errorf("evaluates to %v (%v), then to %v (%v)", first, firstErr, again, againErr)
		}
	})
}

func TestUnmetPartsOfAConditionAreNamed(t *testing.T) {
	claims, err := expression.FlattenClaims(map[string]any{"repository": "acme/shop", "ref": "refs/heads/x", "run": "seven"})
	evidencetest.Must(t, err)
	for condition, want := range map[string][]string{
		`claims.repository == "acme/shop"`: nil,
		`claims.ref == "main"`:             {`claims.ref == "main"`},
		`claims.repository == "acme/shop" and (claims.ref == "main" or claims.ref == "é and x")  and  claims.actor == "ada"`: {
			`(claims.ref == "main" or claims.ref == "é and x")`, `claims.actor == "ada"`},
		`claims.run > 3 and claims.repository == "acme/shop"`: {`claims.run > 3`},
		`(claims.ref == "a" and claims.run == "b")`:           {`(claims.ref == "a" and claims.run == "b")`},
		`claims.ref == "a" or claims.ref == "b"`:              {`claims.ref == "a" or claims.ref == "b"`},
	} {
		parsed, err := expression.ParseClaims(condition)
		evidencetest.Must(t, err)
		if got := parsed.Unmet(claims); !slices.Equal(got, want) {
			t.Errorf("%s: %q", condition, got)
		}
	}
}
