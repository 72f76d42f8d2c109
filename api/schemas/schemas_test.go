package schemas

import (
	"encoding/json"
	"strings"
	"testing"

	"attestry/evidence/attestation"
)

func TestSchemasListTheBuiltInAttestationTypes(t *testing.T) {
	encoded, err := json.Marshal(append(attestation.Names(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{ "enum": ` + strings.ReplaceAll(string(encoded), ",", ", ") + ` }`
	for name, schema := range map[string]document{"flow templates": flowTemplate, "environment policies": environmentPolicy} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("the schema of %s lacks %s", name, want)
		}
	}
}
