package recognition

import (
	"slices"
	"testing"
)

// elementsOf returns the elements that eachElement finds in a body.
func elementsOf(body string) ([]string, frame, bool) {
	var elements []string
	around, ok := eachElement([]byte(body), func(element []byte) { elements = append(elements, string(element)) })
	return elements, around, ok
}

func TestBodiesAreSplitIntoElements(t *testing.T) {
	for body, want := range map[string][]string{
		`{"artifacts":[]}`:   nil,
		`{"artifacts":[{}]}`: {`{}`},
		`{"type":"K8S","artifacts":[{"a":1},{"b":[{}]}]}`:                    {`{"a":1}`, `{"b":[{}]}`},
		" {\"artifacts\"\t: [ \n{ } , {\"a\" : {}}\r] ,\"type\":\"K8S\"} \n": {`{ }`, `{"a" : {}}`},
		`{"artifacts":[{"a":"}],[{"},{"b":"\"}"},{"c":"\\"},{"d":"\\\"]"}]}`: {`{"a":"}],[{"}`, `{"b":"\"}"}`, `{"c":"\\"}`, `{"d":"\\\"]"}`},
	} {
		got, _, ok := elementsOf(body)
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v", body, got, ok)
		}
	}
}

func TestBodiesOfAnotherFormAreNotSplit(t *testing.T) {
	for what, body := range map[string]string{
		"nothing":                             ``,
		"no array":                            `{"artifacts":{}}`,
		"another array":                       `{"instances":[]}`,
		"an array in a member":                `{"a":{"artifacts":[{}]}}`,
		"an array behind a member":            `{"a":{},"artifacts":[{}]}`,
		"the name in a text":                  `{"a":"\"artifacts\":[","artifacts":[{}]}`,
		"an escaped member":                   `{"\u0061":"","artifacts":[{}]}`,
		"a second array":                      `{"artifacts":[{}],"artifacts":[{}]}`,
		"a second array of another name":      `{"artifacts":[{}],"\u0061rtifacts":[{}]}`,
		"a number":                            `{"artifacts":[1]}`,
		"a text":                              `{"artifacts":["{}"]}`,
		"null":                                `{"artifacts":[null]}`,
		"an array of arrays":                  `{"artifacts":[[{}]]}`,
		"no comma":                            `{"artifacts":[{}{}]}`,
		"two commas":                          `{"artifacts":[{},,{}]}`,
		"a comma before the first":            `{"artifacts":[,{}]}`,
		"a comma behind the last":             `{"artifacts":[{},]}`,
		"a comma alone":                       `{"artifacts":[,]}`,
		"a colon between two":                 `{"artifacts":[{}:{}]}`,
		"white space that JSON does not have": "{\"artifacts\":[{},\v{}]}",
		"a body that ends in an element":      `{"artifacts":[{"a":1`,
		"a body that ends in a text":          `{"artifacts":[{"a":"`,
		"a body that ends behind a comma":     `{"artifacts":[{},`,
		"an array that does not end":          `{"artifacts":[{}`,
		"more beside than may be":             `{"type":"` + string(make([]byte, maxFrame)) + `","artifacts":[]}`,
	} {
		if elements, _, ok := elementsOf(body); ok {
			t.Errorf("%s: cut into %q", what, elements)
		}
	}
}

func TestFrameIsTheTextAroundTheElements(t *testing.T) {
	_, around, ok := elementsOf(` {"artifacts" : [ {} ] , "type": "K8S"} `)
	if !ok || string(around.before) != ` {"artifacts" : [` || string(around.after) != `] , "type": "K8S"} ` {
		t.Errorf("got %q and %q, %v", around.before, around.after, ok)
	}
}
