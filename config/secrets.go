package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

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
