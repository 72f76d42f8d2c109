package audit

import (
	"slices"
	"strings"
	"testing"
)

func TestLongListsAreReadOnlyInTheFormInWhichTheyAreWritten(t *testing.T) {
	var list []ReplacedObject
	for range 2_000 {
		list = append(list, ReplacedObject{Object: "a long key of an object", At: 1.5})
	}
	written, err := Encode(list)
	if err != nil {
		t.Fatal(err)
	}
	text := string(written)
	for name, c := range map[string]struct{ from, to string }{
		"a blank in an entry":   {`"object":`, `"object": `},
		"an unknown member":     {`"at":1.5}`, `"at":1.5,"x":1}`},
		"a member twice":        {`"at":1.5}`, `"at":1,"at":1.5}`},
		"another type":          {`"at":1.5`, `"at":"1.5"`},
		"no end":                {"]\n", "\n"},
		"more behind the end":   {"]\n", "]]\n"},
		"an entry that is none": {"]\n", ",x]\n"},
		"an object":             {"[{", `{"a":{`},
		"a broken beginning":    {"[{", "}{"},
	} {
		t.Run(name, func(t *testing.T) {
			var kept []ReplacedObject
			content := strings.Replace(text, c.from, c.to, 1)
			if err := decodeList(newLimitedVerifier(func(*limits) {}), []byte(content), &kept); err == nil || kept != nil {
				t.Errorf("%d entries are kept, %v", len(kept), err)
			}
		})
	}
	var kept []ReplacedObject
	if err := decodeList(newLimitedVerifier(func(*limits) {}), written, &kept); err != nil || !slices.Equal(kept, list) {
		t.Errorf("as it is written, %d entries are kept, %v", len(kept), err)
	}
}
