package config

import (
	"fmt"
	"os"

	"attestry/evidence/signing"
	"attestry/evidence/translog"
)

const (
	signingKeyFile = prefix + "SIGNING_KEY_FILE"
	logKeyFile     = prefix + "LOG_KEY_FILE"
)

// SigningKey reads the key that verdicts are signed with, nil if no file is set.
func (h *HTTP) SigningKey() (*signing.Key, error) {
	return readKey(signingKeyFile, h.SigningKeyFile, signing.ParseKey)
}

// Keys reads the keys that sign the transparency logs, nil if no file is set.
func (l *Log) Keys() (translog.Keys, error) {
	return readKey(logKeyFile, l.KeyFile, translog.ParseKeys)
}

func readKey[K any](variable, file string, parse func([]byte) (K, error)) (key K, err error) {
	if file == "" {
		return key, nil
	}
	if key, err = parseKey(file, parse); err != nil {
		return key, fmt.Errorf("%s: %w", variable, err)
	}
	return key, nil
}

func parseKey[K any](file string, parse func([]byte) (K, error)) (key K, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return key, fmt.Errorf("cannot be read: %w", withoutSecret(err))
	}
	if key, err = parse(content); err != nil {
		return key, fmt.Errorf("%s %w", file, err)
	}
	return key, nil
}

// checkKey parses a key file. It does not open a pipe, for the reason in checkFile.
func checkKey[K any](l *loader, variable, file string, parse func([]byte) (K, error)) {
	l.checkFile(variable, file)
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if _, err := parseKey(file, parse); err != nil {
		l.fault(variable, "%v", err)
	}
}
