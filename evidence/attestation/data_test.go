package attestation

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
)

// finding returns the text of an Invalid error at a location.
func finding(t *testing.T, err error, at string) string {
	t.Helper()
	var refused *evidence.Error
	if !errors.As(err, &refused) || refused.Code != evidence.Invalid {
		t.Fatalf("got %v, want Invalid", err)
	}
	text, ok := refused.Fields[at]
	if !ok {
		t.Fatalf("nothing at %s, but at %q", at, slices.Collect(maps.Keys(refused.Fields)))
	}
	return text
}

func TestPayloadIsReadFromJSONOrFromAString(t *testing.T) {
	for sent, want := range map[string]string{
		`{"a": 1}`: `{"a": 1}`, ` [1] `: `[1]`, `"{\"a\": 1}"`: `{"a": 1}`, `" [1, 2] "`: `[1, 2]`, `"5"`: `5`, `"null"`: `null`, `"\"x\""`: `"x"`,
	} {
		got, err := ReadData(json.RawMessage(sent))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s %v", sent, got, err)
		}
	}
	for sent, want := range map[string]string{
		``: "Field required [input: None]", `null`: "JSON input should be string, object or list [input: None]", `5`: "JSON input should be string, object or list [input: 5]", `""`: "Invalid JSON: unexpected end of input [input: ]",
		`"{"`: "Invalid JSON: unexpected end of input [input: {]", `"1 2"`: "Invalid JSON: trailing characters [input: 1 2]", `"yes"`: "Invalid JSON: invalid character 'y' looking for beginning of value [input: yes]",
		`"` + strings.Repeat("[", 101) + `"`: "Invalid JSON: recursion limit exceeded [input: " + strings.Repeat("[", 101) + "]",
	} {
		_, err := ReadData(json.RawMessage(sent))
		if got := finding(t, err, "attestation_data"); got != want {
			t.Errorf("%s: %q", sent, got)
		}
	}
	_, err := ReadData(json.RawMessage(`{"a":[1,1e999]}`))
	if got := finding(t, err, "attestation_data/a/1"); got != "Input should hold numbers of moderate size only: number out of range" {
		t.Errorf("got %q", got)
	}
	_, err = ReadData(json.RawMessage(`["` + strings.Repeat("x", MaxPayload) + `"]`))
	if got := finding(t, err, "attestation_data"); !strings.HasPrefix(got, "Data should have at most 1048576 bytes") || len(got) > 300 {
		t.Errorf("got %q", got)
	}
}

func TestPayloadInAStringMustBeUnicodeText(t *testing.T) {
	for sent, at := range map[string]string{
		`"{\"a\":[\"\\ud800\"]}"`:  "attestation_data.a[0]",
		`"{\"\\udc00\":1}"`:        "attestation_data.\uFFFD.[key]",
		`"[\"\\ude80\\ud83d\"]"`:   "attestation_data[0]",
		`"[\"\\ud83d\\ude80 ü\"]"`: "",
	} {
		t.Run(sent, func(t *testing.T) {
			_, err := ReadData(json.RawMessage(sent))
			if at == "" && err != nil {
				t.Fatal(err)
			}
			if at != "" && !strings.HasPrefix(finding(t, err, at), "Input should be a valid string, unable to parse raw data as a unicode string") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRepeatedKeysOfAPayloadAreRefused(t *testing.T) {
	for sent, want := range map[string][2]string{
		`"{\"is_compliant\":false,\"is_compliant\":true}"`: {"attestation_data.is_compliant", "is_compliant"},
		`"[{\"a\":1,\"\\u0061\":2}]"`:                      {"attestation_data[0].a", "a"},
		`"{\"\\u0001\":1,\"\\u0001\":2}"`:                  {"attestation_data.\x01", "\x01"},
		`{"a":{"b":1,"b":1}}`:                              {"attestation_data.a.b", "b"},
	} {
		_, err := ReadData(json.RawMessage(sent))
		if got := finding(t, err, want[0]); got != "Invalid JSON: the key is given twice [input: "+want[1]+"]" {
			t.Errorf("%s: %q", sent, got)
		}
	}
}

// Payloads that earlier versions have stored may have a key twice: the last value counted, and still does.
func TestStoredPayloadsMayHaveAKeyTwice(t *testing.T) {
	verdict, err := Evaluate(Definition{Rules: []string{".ok"}}, json.RawMessage(`{"ok":false,"ok":true}`))
	if err != nil || !verdict.Compliant {
		t.Errorf("got %+v, %v", verdict, err)
	}
}

func TestDecisionNeedsItsVerdict(t *testing.T) {
	for sent, want := range map[string]bool{`{"is_compliant": true}`: true, `{"is_compliant": false, "why": "x"}`: false} {
		decision, err := ReadDecision(json.RawMessage(sent))
		if err != nil || decision.IsCompliant != want {
			t.Errorf("%s: %+v %v", sent, decision, err)
		}
	}
	for sent, at := range map[string]string{
		`{}`: "attestation_data.is_compliant", `{"is_compliant": null}`: "attestation_data.is_compliant", `{"is_compliant": "true"}`: "attestation_data.is_compliant",
		`{"Is_Compliant": true}`: "attestation_data.is_compliant", `[]`: "attestation_data", `null`: "attestation_data",
	} {
		_, err := ReadDecision(json.RawMessage(sent))
		finding(t, err, at)
	}
}

func TestDecisionSchemaAgreesWithReadDecision(t *testing.T) {
	definition := checked(t, string(DecisionSchema))
	for _, sent := range []string{`{"is_compliant": true}`, `{"is_compliant": false, "why": 1}`, `{}`, `{"is_compliant": null}`, `{"is_compliant": "true"}`, `[]`, `5`} {
		_, byHand := ReadDecision(json.RawMessage(sent))
		_, bySchema := Evaluate(definition, json.RawMessage(sent))
		if (byHand == nil) != (bySchema == nil) {
			t.Errorf("%s: %v by hand, %v by schema", sent, byHand, bySchema)
		}
	}
}

func FuzzReadDataNeverPanics(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `"{}"`, `"\ud800"`, `[`, `""`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		data, err := ReadData(json.RawMessage(sent))
		if err == nil && !json.Valid(data) {
			t.Errorf("%q gives %q", sent, data)
		}
	})
}

func TestNumbersOfAPayloadAreBounded(t *testing.T) {
	for number, valid := range map[string]bool{
		"0e400": true, "0e401": false, "1E-400": true, "1e-401": false, "-1e308": true, "1e309": false,
		"0." + strings.Repeat("1", 398): true, "0." + strings.Repeat("1", 399): false,
	} {
		t.Run(number, func(t *testing.T) {
			_, err := ReadData(json.RawMessage(`{"a":[` + number + `]}`))
			if valid && err != nil {
				t.Error(err)
			} else if !valid {
				finding(t, err, "attestation_data/a/0")
			}
		})
	}
}
