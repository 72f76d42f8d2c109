package mutationtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// otherTests are further packages whose tests cover a package, by the longest matching prefix of its path. They run if
// the package's own tests do not fail.
var otherTests = map[string][]string{
	"attestry/evidence":              {"./evidence/...", "./app/recording"},
	"attestry/evidence/audit":        {"./scripts/verify-package", "./tasks/auditpackage"},
	"attestry/evidence/compliance":   {"./app/recording"},
	"attestry/evidence/snapshot":     {"./tasks/reports"},
	"attestry/storage":               {"./storage/pebble", "./storage/pipelines"},
	"attestry/storage/environments":  {"./tasks/reports"},
	"attestry/storage/notifications": {"./tasks/notification"},
	"attestry/storage/names":         {"./storage/environments", "./storage/governance", "./storage/pipelines"},
	"attestry/storage/pipelines":     {"./app/recording"},
	"attestry/tasks":                 {"./worker/server"},
}

// stories are the tests of the whole service, which run last.
const stories = "./api/..."

// tests runs tests of altered code.
type tests struct {
	ctx     context.Context
	folder  string        // for temporary files
	timeout time.Duration // of one package
	stories bool          // run them as well
}

// checkStories returns an error if the tests of the whole service fail without an alteration. Then they would fail for
// each one.
func (t tests) checkStories() error {
	if !t.stories {
		return nil
	}
	output, err := exec.CommandContext(t.ctx, "go", "test", "-short", "-vet=off", "-failfast", "-timeout", t.timeout.String(), stories).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s fails without an alteration: %w\n%s", stories, err, output)
	}
	return nil
}

// find returns the packages whose tests fail because of an alteration, "" if none, and whether it compiles.
func (t tests) find(altered alteration) (by string, compiles bool, err error) {
	overlay, err := t.overlay(altered)
	if err != nil {
		return "", false, err
	}
	if t.command("build", overlay, altered.pkg).Run() != nil {
		return "", false, t.ctx.Err()
	}
	for _, packages := range t.packagesFor(altered.pkg) {
		failed := t.command("test", overlay, "-short", "-vet=off", "-failfast", "-timeout", t.timeout.String(), packages).Run() != nil
		if t.ctx.Err() != nil {
			return "", true, t.ctx.Err()
		}
		if failed {
			return packages, true, nil
		}
	}
	return "", true, nil
}

// overlay writes the altered file, and the file that tells the go command to compile it.
func (t tests) overlay(altered alteration) (string, error) {
	file := filepath.Join(t.folder, "altered.go")
	if err := os.WriteFile(file, []byte(altered.text()), 0o600); err != nil {
		return "", err
	}
	content, err := json.Marshal(map[string]any{"Replace": map[string]string{altered.file: file}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(t.folder, "overlay.json")
	return overlay, os.WriteFile(overlay, content, 0o600)
}

func (t tests) command(verb, overlay string, arguments ...string) *exec.Cmd {
	return exec.CommandContext(t.ctx, "go", append([]string{verb, "-overlay", overlay}, arguments...)...)
}

// packagesFor returns the packages whose tests cover a package, in the order in which they run.
func (t tests) packagesFor(pkg string) []string {
	longest := ""
	for prefix := range otherTests {
		if strings.HasPrefix(pkg, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	packages := append([]string{pkg}, otherTests[longest]...)
	if t.stories {
		packages = append(packages, stories)
	}
	return packages
}
