package server

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSchemasAreTheRecordedOnes compares what the OpenAPI document says of all parameters and members with
// testdata/schemas.txt: their types, whether they are required, their defaults, patterns, limits and choices. All
// requests are validated by these schemas, so that no other test has to send each value that one of them refuses. With
// ATTESTRY_TEST_UPDATE set it writes the file.
func TestSchemasAreTheRecordedOnes(t *testing.T) {
	const recorded = "testdata/schemas.txt"
	lines := schemaLines(t, productDocument(t))
	got := strings.Join(lines, "\n") + "\n"
	if os.Getenv("ATTESTRY_TEST_UPDATE") != "" {
		if err := os.WriteFile(recorded, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	if want := string(content); got != want {
		known := strings.Split(want, "\n")
		for _, line := range lines {
			if !slices.Contains(known, line) {
				t.Errorf("not recorded: %s", line)
			}
		}
		t.Errorf("%d lines, want %d", len(lines), len(known)-1)
	}
}

// schemaLines has a line for each parameter and body of an operation, and for each component or member of one.
func schemaLines(t *testing.T, document map[string]any) []string {
	t.Helper()
	var lines []string
	add := func(required bool, schema any, name ...string) {
		encoded, err := json.Marshal(undocumented(schema))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s%s", strings.Join(name, " "), map[bool]string{true: "required "}[required], encoded))
	}
	for _, item := range document["paths"].(map[string]any) {
		for _, described := range item.(map[string]any) {
			operation := described.(map[string]any)
			id := operation["operationId"].(string)
			parameters, _ := operation["parameters"].([]any)
			for _, each := range parameters {
				parameter := each.(map[string]any)
				add(parameter["required"] == true, parameter["schema"], id, parameter["in"].(string), parameter["name"].(string))
			}
			if body, ok := operation["requestBody"].(map[string]any); ok {
				for media, content := range body["content"].(map[string]any) {
					add(body["required"] == true, content.(map[string]any)["schema"], id, media)
				}
			}
		}
	}
	for name, each := range document["components"].(map[string]any)["schemas"].(map[string]any) {
		component := each.(map[string]any)
		properties, _ := component["properties"].(map[string]any)
		required, _ := component["required"].([]any)
		for member, schema := range properties {
			add(slices.Contains(required, any(member)), schema, name, member)
		}
		delete(component, "properties")
		delete(component, "required")
		add(false, component, name)
	}
	slices.Sort(lines)
	return lines
}

// undocumented removes the descriptions and examples from a schema.
func undocumented(schema any) any {
	switch value := schema.(type) {
	case []any:
		for i := range value {
			value[i] = undocumented(value[i])
		}
	case map[string]any:
		if _, isText := value["description"].(string); isText {
			delete(value, "description")
		}
		if _, isList := value["examples"].([]any); isList {
			delete(value, "examples")
		}
		for name := range value {
			value[name] = undocumented(value[name])
		}
	}
	return schema
}
