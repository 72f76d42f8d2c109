// Package helm_test tests the chart beside it.
package helm_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/scripts/readmetest"
)

// chartDefaults differ from the defaults of the settings, because other pods must reach these ports.
var chartDefaults = map[string]string{"listen": ":8001", "monitorListen": ":9001"}

// valueName returns the name of a setting in the values of the chart: requestTimeout for ATTESTRY_REQUEST_TIMEOUT.
func valueName(variable string) string {
	first, rest, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(variable, "ATTESTRY_")), "_")
	for word := range strings.SplitSeq(rest, "_") {
		if word != "" {
			first += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return first
}

// TestValuesMirrorTheSettings writes the settings of values.yaml if ATTESTRY_TEST_UPDATE is set.
func TestValuesMirrorTheSettings(t *testing.T) {
	var block strings.Builder
	var names []string
	for _, v := range config.Table() {
		name := valueName(v.Name)
		names = append(names, name)
		fmt.Fprintf(&block, "  # %s: %s", v.Name, v.Meaning)
		switch {
		case v.Required:
			block.WriteString("; required in mode cluster")
		case v.Default != "":
			fmt.Fprintf(&block, "; default %s", v.Default)
		}
		fmt.Fprintf(&block, "\n  %s: %q\n", name, chartDefaults[name])
	}
	readmetest.Check(t, "attestry/values.yaml", "settings", block.String()+"  # ")

	checkNames(t, "attestry/values.schema.json", names)
}

// listedNames matches the names of settings in the schema of the values.
var listedNames = regexp.MustCompile(`"settingName": \{"enum": \[[^]]*\]`)

// checkNames compares the list in a schema with the names, or updates it if ATTESTRY_TEST_UPDATE is set.
func checkNames(t *testing.T, file string, names []string) {
	t.Helper()
	encoded, err := json.Marshal(names)
	evidencetest.Must(t, err)
	content, want := readmetest.Read(t, file), `"settingName": {"enum": `+string(encoded)
	switch {
	case listedNames.FindString(content) == want:
		return
	case !readmetest.Updating():
		t.Errorf("%s does not have %s", file, want)
	default:
		writeFile(t, file, listedNames.ReplaceAllLiteralString(content, want))
	}
}

func writeFile(t *testing.T, file, content string) {
	t.Helper()
	evidencetest.Must(t, os.WriteFile(file, []byte(content), 0o644))
}

// TestSecretSettingsAreKeptInASecret compares the list of the chart with the types of the settings.
func TestSecretSettingsAreKeptInASecret(t *testing.T) {
	var secret []string
	for i, v := range config.Table() {
		if holdsSecret(settingTypes(reflect.TypeFor[config.Settings]())[i]) {
			secret = append(secret, valueName(v.Name))
		}
	}
	slices.Sort(secret)
	_, rest, _ := strings.Cut(readmetest.Read(t, "attestry/templates/_settings.tpl"), `{{- define "attestry.secretSettings" -}}`)
	listed, _, _ := strings.Cut(rest, "{{- end }}")
	if len(secret) < 5 || !slices.Equal(strings.Fields(listed), secret) {
		t.Errorf("the chart keeps %q in a Secret, not %q", strings.Fields(listed), secret)
	}
}

// settingTypes returns the types of the settings in the order of config.Table.
func settingTypes(group reflect.Type) []reflect.Type {
	var types []reflect.Type
	for i := range group.NumField() {
		field := group.Field(i)
		if _, ok := field.Tag.Lookup("env"); ok {
			types = append(types, field.Type)
		} else {
			types = append(types, settingTypes(field.Type)...)
		}
	}
	return types
}

// holdsSecret reports whether a type is evidence.Secret, or has such a field.
func holdsSecret(of reflect.Type) bool {
	if of.Kind() != reflect.Struct {
		return of.String() == "evidence.Secret"
	}
	for i := range of.NumField() {
		if holdsSecret(of.Field(i).Type) {
			return true
		}
	}
	return false
}
