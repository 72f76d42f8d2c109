package config_test

import (
	"fmt"
	"strings"
	"testing"

	"attestry/config"
	"attestry/scripts/readmetest"
)

// TestEverySettingIsListed compares the table in docs/settings.md with the settings. With ATTESTRY_TEST_UPDATE set it
// writes it.
func TestEverySettingIsListed(t *testing.T) {
	readmetest.Check(t, "../docs/settings.md", "settings", settingsTable())
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
