package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"attestry/evidence"
)

// Flag is a setting given on the command line.
type Flag struct {
	Name     string // such as --listen, for faults of the value
	Variable string
	Value    string
}

// Sources are where settings come from. Flags override the environment, and both override the defaults.
type Sources struct {
	// Environ has the form of os.Environ.
	Environ []string
	Flags   []Flag
	// Defaults override those of Table, by variable. A variable in it is not required, even if its default is empty.
	Defaults map[string]string
	// CheckFiles reports named files that cannot be read or parsed. Programs that do not read them leave it false.
	CheckFiles bool
}

// Environment returns all settings that are set or in Defaults, in the form of os.Environ, with the secrets of files.
func (s Sources) Environment() []string {
	merged, _ := s.merged()
	return evidence.Map(slices.Sorted(maps.Keys(merged)), func(name string) string { return name + "=" + merged[name] })
}

// merged returns the values and the faults of secret files, both by variable.
func (s Sources) merged() (merged, faults map[string]string) {
	merged = attestryVariables(s.Environ)
	for _, flag := range s.Flags {
		merged[flag.Variable] = flag.Value
		delete(merged, flag.Variable+fileSuffix)
	}
	faults = readSecrets(merged)
	// The parser treats an empty variable as unset.
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

// nameOf returns the name of a variable in faults: that of the flag that set it, if any.
func (s Sources) nameOf(variable string) string {
	flag, ok := evidence.First(s.Flags, func(f Flag) bool { return f.Variable == variable })
	if !ok {
		return variable
	}
	return flag.Name
}

// attestryVariables returns the variables with the prefix, without those for tests.
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

// readSecrets replaces variables such as ATTESTRY_REDIS_URL_FILE by ATTESTRY_REDIS_URL with the content of the file. It
// returns faults by the variable of the secret.
func readSecrets(environment map[string]string) (faults map[string]string) {
	faults = map[string]string{}
	for _, variable := range Table() {
		fileVariable := variable.Name + fileSuffix
		if !variable.Secret {
			continue
		}
		file := environment[fileVariable]
		delete(environment, fileVariable)
		switch {
		case file == "":
		case environment[variable.Name] != "":
			faults[variable.Name] = fmt.Sprintf("is given together with %s: only one of them can be", fileVariable)
		default:
			var err error
			if environment[variable.Name], err = readSecret(file); err != nil {
				faults[variable.Name] = fmt.Sprintf("cannot be read from the file of %s: %v", fileVariable, withoutSecret(err))
			}
		}
	}
	return faults
}

// readSecret returns a file's content without its trailing line break. It refuses a pipe, which can be read only once.
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
