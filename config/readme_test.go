package config_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"attestry/config"
)

// TestReadmeListsEverySetting keeps the table in README.md true. With
// ATTESTRY_TEST_UPDATE set it writes it.
func TestReadmeListsEverySetting(t *testing.T) {
	const readme, begin, end = "../README.md", "<!-- settings -->\n", "<!-- /settings -->"
	content, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(content), begin)
	table, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no table of settings", readme)
	}
	want := settingsTable()
	if os.Getenv("ATTESTRY_TEST_UPDATE") != "" {
		if err := os.WriteFile(readme, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the table of settings in %s is not\n%s", readme, want)
	}
}

func settingsTable() string {
	var b strings.Builder
	b.WriteString("| variable | default | meaning |\n|---|---|---|\n")
	for _, v := range config.Table() {
		value := "`" + v.Default + "`"
		switch {
		case v.Required:
			value = "required"
		case v.Default == "":
			value = ""
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.Name, value, strings.ReplaceAll(v.Meaning, "|", `\|`))
	}
	return b.String()
}
