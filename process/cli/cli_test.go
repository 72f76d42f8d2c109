package cli

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"attestry/config"
	"attestry/process/buildinfo"
)

// trial is a parsed command line with its output.
type trial struct {
	program   *Program
	out, errs bytes.Buffer
	command   string
	status    int
	done      bool
}

func parse(args ...string) *trial {
	tr := &trial{program: NewProgram("attestry-test", "Does nothing.", Command{Name: "healthcheck", Summary: "ask"})}
	tr.program.Setting("queues", "ATTESTRY_QUEUES", "serve `QUEUES`")
	tr.program.Setting("listen", "ATTESTRY_LISTEN", "answer on `HOST:PORT`")
	tr.program.Default("ATTESTRY_REDIS_URL", "in memory")
	tr.command, tr.status, tr.done = tr.program.Parse(args, &tr.out, &tr.errs)
	return tr
}

func TestHelpListsEveryFlagAndSettingOnStandardOutput(t *testing.T) {
	for _, argument := range []string{"--help", "-h"} {
		tr := parse(argument)
		if !tr.done || tr.status != 0 || tr.errs.Len() != 0 {
			t.Errorf("%s: done %t, status %d, %s", argument, tr.done, tr.status, &tr.errs)
		}
		for _, variable := range config.Table() {
			if strings.Count(tr.out.String(), "\n  "+variable.Name+" ") != 1 || !strings.Contains(tr.out.String(), variable.Meaning) {
				t.Errorf("%s does not describe %s", argument, variable.Name)
			}
		}
		for _, line := range []string{"--queues QUEUES ", "--version ", "attestry-test healthcheck ", "(overrides ATTESTRY_QUEUES)", "required ", "in memory "} {
			if !strings.Contains(tr.out.String(), line) {
				t.Errorf("%s does not tell of %q:\n%s", argument, line, &tr.out)
			}
		}
	}
}

func TestErrorsOfCommandLinesArePrintedOnce(t *testing.T) {
	for name, row := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":             {[]string{"--frobnicate"}, "frobnicate"},
		"flag without its value":   {[]string{"--queues"}, "queues"},
		"wrong value":              {[]string{"--version=perhaps"}, "perhaps"},
		"unknown argument":         {[]string{"frobnicate"}, "frobnicate"},
		"argument after a command": {[]string{"healthcheck", "frobnicate"}, "frobnicate"},
		"argument after a flag":    {[]string{"--queues", "reports=1", "frobnicate"}, "frobnicate"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := parse(row.args...)
			if !tr.done || tr.status != 2 || tr.out.Len() != 0 {
				t.Errorf("done %t, status %d, %s", tr.done, tr.status, &tr.out)
			}
			if strings.Count(tr.errs.String(), row.want) != 1 || strings.Count(tr.errs.String(), "\n") != 2 {
				t.Errorf("printed %q", &tr.errs)
			}
		})
	}
}

func TestGivenFlagsBecomeSettingsUnderTheirName(t *testing.T) {
	tr := parse("--queues", "reports=1", "healthcheck")
	if tr.done || tr.command != "healthcheck" {
		t.Errorf("done %t, command %q: %s", tr.done, tr.command, &tr.errs)
	}
	want := []config.Flag{{Name: "--queues", Variable: "ATTESTRY_QUEUES", Value: "reports=1"}}
	if got := tr.program.Given(); !reflect.DeepEqual(got, want) {
		t.Errorf("given %v, want %v", got, want)
	}
}

func TestVersionNamesTheCommit(t *testing.T) {
	tr := parse("--version")
	if !tr.done || tr.status != 0 || tr.out.String() != "attestry-test "+buildinfo.Read().String()+"\n" {
		t.Errorf("done %t, status %d: %q", tr.done, tr.status, &tr.out)
	}
}
