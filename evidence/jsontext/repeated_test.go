package jsontext_test

import (
	"fmt"
	"strings"
	"testing"

	"attestry/evidence/jsontext"
)

func TestRepeatedKeysAreFoundWithTheirPath(t *testing.T) {
	for name, c := range map[string]struct{ data, path, key string }{
		"at the top":          {`{"is_compliant":false,"is_compliant":true}`, "is_compliant", "is_compliant"},
		"by an escape":        {`{"a":1,"\u0061":2}`, "a", "a"},
		"by another escape":   {`{"/":1,"\/":2}`, "/", "/"},
		"of the same value":   {`{"a":1,"a":1}`, "a", "a"},
		"within an object":    {`{"x":{"b":[],"c":1,"b":{}}}`, "x.b", "b"},
		"within a list":       {`[{},{"a":1},{"digests":{"i:1":"","i:1":""}}]`, "[2].digests.i:1", "i:1"},
		"behind an object":    {` {"a" : {"a":{"a":1}} , "b":2, "a" : 3 } `, "a", "a"},
		"among many":          {`{` + manyKeys(500) + `,"k7":0}`, "k7", "k7"},
		"empty keys":          {`{"x":{"":1,"":2}}`, "x.", ""},
		"of another case":     {`{"a":1,"A":2}`, "", ""},
		"in different ones":   {`{"a":{"a":1},"b":{"a":1},"c":[{"a":1},{"a":2}]}`, "", ""},
		"as values":           {`{"a":"b","b":"a","c":["a","a"]}`, "", ""},
		"composed otherwise":  {`{"\u00e9":1,"e\u0301":2}`, "", ""},
		"no object":           {`"a"`, "", ""},
		"many different ones": {`{` + manyKeys(500) + `}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path, key, ok := jsontext.Repeated([]byte(c.data))
			if want := c.path != ""; path != c.path || key != c.key || ok != want {
				t.Errorf("got %q, %q, %v", path, key, ok)
			}
		})
	}
}

func FuzzRepeated(f *testing.F) {
	f.Add([]byte(`{"a":1,"\u0061":[{"b":1,"b":2}]}`))
	f.Add([]byte(`[{"\ud800":1,"\ud800":2},"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path, key, ok := jsontext.Repeated(data)
		if !ok && path+key != "" || ok && !strings.HasSuffix(path, key) && !strings.HasSuffix(path, "[key]") {
			t.Errorf("%q: got %q, %q, %v", data, path, key, ok)
		}
	})
}

// manyKeys returns n members of an object.
func manyKeys(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	return strings.Join(members, ",")
}
