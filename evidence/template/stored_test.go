package template_test

import (
	"reflect"
	"strings"
	"testing"

	"attestry/evidence/template"
)

func TestParseStoredReadsWhatEarlierVersionsAccepted(t *testing.T) {
	const listed = "trail:\n  attestations:\n"
	long := strings.Repeat("n", 300)
	for name, c := range map[string]struct{ content, name, kind string }{
		"a long name":               {listed + "    - {name: " + long + ", type: junit}\n", long, "junit"},
		"a long type":               {listed + "    - {name: a, type: custom:" + long + "}\n", "a", "custom:" + long},
		"escaped surrogates":        {`{"trail": {"attestations": [{"name": "a", "type": "custom:\ud83d\ude00"}]}}`, "a", "custom:\U0001F600"},
		"a control character":       {"# \x01\n" + listed + "    - {name: a, type: junit}\n", "a", "junit"},
		"YAML 1.3":                  {"%YAML 1.3\n---\n" + listed + "    - {name: a, type: junit}\n", "a", "junit"},
		"a tag directive":           {"%TAG !a! b\n---\n" + listed + "    - {name: a, type: junit}\n", "a", "junit"},
		"no blank before a text":    {listed + "    - {name: a, type:\"junit\"}\n", "a", "junit"},
		"no blank before a comment": {listed + "    - name: 'a'# c\n      type: junit\n", "a", "junit"},
		"a value in column 0":       {"version:\n1\n" + listed + "    - {name: a, type: junit}\n", "a", "junit"},
		"a blank within a key":      {"\uFEFF# \x01\n{trail: {attestations: [{\"name \": a, type: junit}]}}\n", "a", "junit"},
		"aliases":                   {"# \x01\ntrail:\n  artifacts: [&b {name: b, attestations: &c [{name: a, type: junit}]}]\n  attestations: *c\n", "a", "junit"},
		"blocks":                    {"# \x01\n" + listed + "    - name: |-\n        a\n      type: >-\n        custom:b\n        c\n", "a", "custom:b c"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := template.Parse([]byte(c.content)); err == nil {
				t.Error("an upload is accepted")
			}
			parsed, err := template.ParseStored([]byte(c.content))
			if want := []template.Attestation{{Name: c.name, Type: c.kind}}; err != nil || !reflect.DeepEqual(parsed.Trail.Attestations, want) {
				t.Errorf("parsed %+v, %v", parsed, err)
			}
		})
	}
}

func TestParseStoredRefusesWhatIsNoTemplate(t *testing.T) {
	for _, content := range []string{"", "version: 2\n", "trail: [\n", "trail: *a\n", "# \x01\nversion: *a\n", "# \x01\nversion: true\n", "? [\n", "# \x01\ntrail: &a {artifacts: *a}\n"} {
		if parsed, err := template.ParseStored([]byte(content)); err == nil {
			t.Errorf("%q: parsed %+v", content, parsed)
		}
	}
}
