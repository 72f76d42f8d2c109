package app_test

import (
	"regexp"
	"slices"
	"testing"

	"attestry/app"
)

// TestSchemasAreAsEnginesExpect checks that names are unique and consist of lower-case letters, digits and underscores,
// and that indexes are over declared fields.
func TestSchemasAreAsEnginesExpect(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for _, schema := range app.Schemas() {
		if !name.MatchString(schema.Name) || seen[schema.Name] {
			t.Errorf("collection %q: malformed or repeated name", schema.Name)
		}
		seen[schema.Name] = true
		for _, field := range schema.Fields {
			if !name.MatchString(field) {
				t.Errorf("collection %s: malformed field %q", schema.Name, field)
			}
		}
		indexes := map[string]bool{}
		for _, index := range schema.Indexes {
			if indexes[index.Name] || len(index.Fields) == 0 {
				t.Errorf("%s: index %q is repeated or without fields", schema.Name, index.Name)
			}
			indexes[index.Name] = true
			for _, field := range index.Fields {
				if !slices.Contains(schema.Fields, field) {
					t.Errorf("%s: field %q of index %s is not declared", schema.Name, field, index.Name)
				}
			}
			if index.Required != "" && !slices.Contains(index.Fields, index.Required) {
				t.Errorf("%s: field %q is required and not part of index %s", schema.Name, index.Required, index.Name)
			}
			if index.Only != nil && index.Required == "" {
				t.Errorf("%s: index %s is only for %v, but has no required field", schema.Name, index.Name, index.Only)
			}
		}
	}
}
