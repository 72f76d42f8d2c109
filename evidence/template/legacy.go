package template

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"attestry/evidence"
	"attestry/evidence/yamlfile"
)

// LegacyArtifact is the reference name of the only artifact of a template of FromNames.
const LegacyArtifact = "artifact"

// FromNames makes the template of a deprecated list of names: one artifact, with an attestation of any type for each
// distinct name. An empty, invalid or too long name, and a list whose template exceeds MaxSize, is a validation error
// of the field template.
func FromNames(list []string) (content []byte, err error) {
	var required []string
	taken := names{LegacyArtifact: true}
	wrong := map[string]string{}
	for i, name := range list {
		at := "template[" + strconv.Itoa(i) + "]"
		switch {
		case name == "":
			wrong[at] = "Attestation names must not be empty" + yamlfile.Shown(name)
		case utf8.RuneCountInString(name) > evidence.MaxResourceName:
			wrong[at] = fmt.Sprintf("String should have at most %d characters", evidence.MaxResourceName) + yamlfile.Shown(name)
		case !validName.MatchString(name):
			wrong[at] = "String should match pattern '" + namePattern + "'" + yamlfile.Shown(name)
		case !taken[name]:
			taken[name] = true
			required = append(required, name)
		}
	}
	if len(wrong) > 0 {
		return nil, evidence.ValidationError(wrong)
	}
	var b strings.Builder
	b.WriteString(Empty + "trail:\n  artifacts:\n    - name: " + LegacyArtifact + "\n")
	if len(required) > 0 {
		b.WriteString("      attestations:\n")
	}
	for _, name := range required { // quoted, as YAML reads some names as numbers or booleans
		b.WriteString("        - name: \"" + name + "\"\n          type: \"" + AnyType + "\"\n")
	}
	if b.Len() > MaxSize {
		text := "List should have fewer items, as its template has at most 1 MiB"
		return nil, evidence.ValidationError(map[string]string{"template": text + yamlfile.Shown(strings.Join(list[:min(len(list), yamlfile.MaxShown)], ", "))})
	}
	return []byte(b.String()), nil
}
