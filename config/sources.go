package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Flag is a setting given on the command line.
type Flag struct {
	Name     string // as it is typed, such as --listen; faults of the value name it
	Variable string
	Value    string
}

// Sources are where settings come from. Flags stand above the environment, and both above the defaults.
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

// readSecrets puts the contents of files in the place of the variables that name them: of
// ATTESTRY_REDIS_URL_FILE as ATTESTRY_REDIS_URL. It returns what is wrong, by the variable with the secret.
func readSecrets(environment map[string]string) (faults map[string]string) {
	faults = map[string]string{}
	for _, variable := range Table() {
		naming := variable.Name + fileSuffix
		if !variable.Secret {
			continue
		}
		file := environment[naming]
		delete(environment, naming)
		if file == "" {
			continue
		}
		if environment[variable.Name] != "" {
			faults[variable.Name] = fmt.Sprintf("is given together with %s: only one of them can be", naming)
			continue
		}
		secret, err := readSecret(file)
		if err != nil {
			faults[variable.Name] = fmt.Sprintf("cannot be read from the file of %s: %v", naming, err)
		}
		environment[variable.Name] = secret
	}
	return faults
}

// readSecret returns the content of a file without the line break at its end. A pipe is refused, as it can be read
// only once.
func readSecret(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", file)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if secret == "" {
		return "", errors.New(file + " is empty")
	}
	return secret, nil
}
