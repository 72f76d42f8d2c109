package config

import (
	"maps"
	"slices"
	"strings"
)

// Flag is a setting given on the command line.
type Flag struct {
	Name     string // as it is typed, such as --listen; faults of the value name it
	Variable string
	Value    string
}

// Sources are where settings come from. Flags stand above the environment, and
// both above the defaults.
type Sources struct {
	// Environ has the form of os.Environ.
	Environ []string
	Flags   []Flag
	// Defaults replace those of Table, by variable. A required variable that is in
	// it, be it with an empty value, is not required.
	Defaults map[string]string
	// CheckFiles makes a file that is named and cannot be read a fault. Not everybody who
	// reads the settings reads the files.
	CheckFiles bool
}

// Environment returns all settings that are given or have a default here, in the
// form of os.Environ. Secrets in files are among them with their values.
func (s Sources) Environment() []string {
	merged, _ := s.merged()
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		entries = append(entries, name+"="+merged[name])
	}
	return entries
}

// merged returns the settings by their variables, and what is wrong with the files of secrets.
func (s Sources) merged() (merged, faults map[string]string) {
	merged = attestryVariables(s.Environ)
	for _, flag := range s.Flags {
		merged[flag.Variable] = flag.Value
		delete(merged, flag.Variable+fileSuffix)
	}
	faults = readSecrets(merged)
	// The parser takes an empty variable for an unset one.
	if value, set := merged[monitorListen]; set && value == "" {
		merged[monitorListen] = off
	}
	for name, value := range s.Defaults {
		if merged[name] == "" {
			merged[name] = value
		}
	}
	return merged, faults
}

// nameOf returns how a variable is called in faults: by the flag that set it.
func (s Sources) nameOf(variable string) string {
	name := variable
	for _, flag := range s.Flags {
		if flag.Variable == variable {
			name = flag.Name
		}
	}
	return name
}

// attestryVariables returns the variables that concern the processes.
func attestryVariables(environ []string) map[string]string {
	environment := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, testPrefix) {
			environment[name] = value
		}
	}
	return environment
}
