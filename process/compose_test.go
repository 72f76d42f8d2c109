package process

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"attestry/config"
)

// substituted is a variable that compose puts in: its name, and a default.
var substituted = regexp.MustCompile(`\$\{(\w+)(?::-([^}]*))?[^}]*\}`)

func readCompose(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An operator may hand the file with these variables to a process as it is.
func TestComposeSubstitutesNoVariableThatAProcessRefuses(t *testing.T) {
	for _, match := range substituted.FindAllStringSubmatch(readCompose(t), -1) {
		name := match[1]
		known := slices.ContainsFunc(config.Table(), func(v config.Variable) bool { return v.Name == name })
		if strings.HasPrefix(name, "ATTESTRY_") && !known {
			t.Errorf("%s is not a setting", name)
		}
	}
}

func TestComposeGivesEachProcessSettingsThatItAccepts(t *testing.T) {
	filled := substituted.ReplaceAllStringFunc(readCompose(t), func(found string) string {
		match := substituted.FindStringSubmatch(found)
		switch {
		case match[2] != "":
			return match[2]
		case match[1] == "ATTESTRY_BASE_URL":
			return "https://evidence.example.com"
		}
		return "a1b2c3d4"
	})
	var compose struct {
		Services map[string]struct {
			Image       string            `yaml:"image"`
			Environment map[string]string `yaml:"environment"`
		} `yaml:"services"`
	}
	if err := yaml.Unmarshal([]byte(filled), &compose); err != nil {
		t.Fatal(err)
	}
	served := config.Queues{}
	for name, service := range compose.Services {
		if !strings.HasPrefix(service.Image, "attestry:") {
			continue
		}
		var environ []string
		for variable, value := range service.Environment {
			environ = append(environ, variable+"="+value)
		}
		settings, err := config.Load(environ)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if settings.Stores.Database.Engine != config.MongoDB || settings.Stores.Objects.Engine != config.S3 {
			t.Errorf("%s does not use the services", name)
		}
		if name == "api" {
			continue
		}
		for queue, weight := range settings.Worker.Queues {
			served[queue] += weight
		}
	}
	if want := (config.Queues{"reports": 1, "compliance": 1, "notifications": 1, "packages": 1, "log": 1}); !maps.Equal(served, want) {
		t.Errorf("the workers serve %v, want %v", served, want)
	}
}
