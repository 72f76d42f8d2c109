package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/scripts/readmetest"
)

const unit = "../deploy/systemd/attestry.service"

// unitSettings returns the values of each setting of the unit, in order.
func unitSettings(t *testing.T) map[string][]string {
	t.Helper()
	settings := map[string][]string{}
	for line := range strings.Lines(readmetest.Read(t, unit)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			settings[name] = append(settings[name], value)
		}
	}
	return settings
}

func TestSystemdUnitUsesExistingFlagsAndSettings(t *testing.T) {
	settings := unitSettings(t)
	standalone := readmetest.Read(t, "../scripts/standalone/main.go")
	flags := namesIn(settings["ExecStart"][0], `--([a-z-]+)`)
	for _, flag := range flags {
		if !regexp.MustCompile(`program\.(String|Setting)\("` + flag + `"`).MatchString(standalone) {
			t.Errorf("the standalone has no flag --%s", flag)
		}
	}
	if !slices.Equal(flags, []string{"data", "monitor"}) {
		t.Errorf("it is started with %v", flags)
	}
	variables := namesIn(readmetest.Read(t, unit), `(ATTESTRY_[A-Z_]+)`)
	for _, name := range variables {
		if !slices.ContainsFunc(config.Table(), func(v config.Variable) bool { return v.Name == name || v.Secret && v.Name+"_FILE" == name }) {
			t.Errorf("%s is not a setting", name)
		}
	}
	stop, err := time.ParseDuration(settings["TimeoutStopSec"][0])
	evidencetest.Must(t, err)
	i := slices.IndexFunc(config.Table(), func(v config.Variable) bool { return v.Name == "ATTESTRY_SHUTDOWN_TIMEOUT" })
	if least, err := time.ParseDuration(config.Table()[i].Default); err != nil || stop <= least {
		t.Errorf("it is killed after %s, but may take %s to stop: %v", stop, least, err)
	}
}

// TestSystemdAcceptsTheUnit lets systemd verify the unit and rate its exposure: at most 1.5 of 10.
func TestSystemdAcceptsTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	// The program need not be installed here.
	content := strings.Replace(readmetest.Read(t, unit), "/usr/local/bin/attestry-standalone", "/bin/true", 1)
	file := filepath.Join(t.TempDir(), "attestry.service")
	evidencetest.Must(t, os.WriteFile(file, []byte(content), 0o600))
	for _, arguments := range [][]string{
		{"verify", file},
		{"security", "--offline=true", "--no-pager", "--threshold=15", file},
	} {
		output, err := exec.CommandContext(t.Context(), analyze, arguments...).CombinedOutput()
		// It also reads units that are installed here.
		if err != nil || arguments[0] == "verify" && strings.Contains(string(output), "attestry.service") {
			t.Errorf("systemd-analyze %v: %v\n%s", arguments, err, output)
		}
	}
}
