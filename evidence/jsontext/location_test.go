package jsontext_test

import (
	"strings"
	"testing"

	"attestry/evidence/jsontext"
)

func TestLocationIsThePathToTheValue(t *testing.T) {
	for name, c := range map[string]struct{ data, path, text string }{
		"the whole":                 {`"!"`, "", "!"},
		"a member":                  {`{"a":1,"b":"!"}`, "b", "!"},
		"a member behind an object": {`{"a":{"x":[1]},"b":"x!"}`, "b", "x!"},
		"an item":                   {`[0,"a","!"]`, "[2]", "!"},
		"an item behind a list":     {`[[1,2],{},["!"]]`, "[2][0]", "!"},
		"a member of an item":       {`{"artifacts":[{},{"digests":{"a:1.2":"!"}}]}`, "artifacts[1].digests.a:1.2", "!"},
		"a name":                    {`{"a":{"b!":1}}`, "a.b!.[key]", "b!"},
		"a name at the top":         {`{"!":1}`, "!.[key]", "!"},
		"a second name":             {`{"x":[],"a!":1}`, "a!.[key]", "a!"},
		"with blanks":               {" { \"a\" : [ 1 , \"!\" ] } ", "a[1]", "!"},
	} {
		t.Run(name, func(t *testing.T) {
			path, text := jsontext.Location([]byte(c.data), strings.IndexByte(c.data, '!'))
			if path != c.path || text != c.text {
				t.Errorf("got %q, %q", path, text)
			}
		})
	}
}
