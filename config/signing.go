package config

import (
	"fmt"
	"os"

	"attestry/evidence/signing"
)

const signingKeyFile = prefix + "SIGNING_KEY_FILE"

// SigningKey reads the key that verdicts are signed with, nil if no file is set.
func (h *HTTP) SigningKey() (*signing.Key, error) {
	if h.SigningKeyFile == "" {
		return nil, nil
	}
	key, err := readSigningKey(h.SigningKeyFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", signingKeyFile, err)
	}
	return key, nil
}

func readSigningKey(file string) (*signing.Key, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	key, err := signing.ParseKey(content)
	if err != nil {
		return nil, fmt.Errorf("%s %w", file, err)
	}
	return key, nil
}

// checkSigningKey reads the key, unless it is in a pipe, as checkFile says.
func (l *loader) checkSigningKey(file string) {
	l.checkFile(signingKeyFile, file)
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if _, err := readSigningKey(file); err != nil {
		l.fault(signingKeyFile, "%v", err)
	}
}
