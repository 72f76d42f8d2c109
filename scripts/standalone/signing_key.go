package main

import (
	"os"
	"path/filepath"

	"attestry/evidence/signing"
)

// signingKey returns the file in the data folder with the key that verdicts are signed with. If there is none,
// it makes one; a start that ends meanwhile leaves no part of it.
func signingKey(data string) (string, error) {
	file := filepath.Join(data, "signing-key.pem")
	found, err := exists(file)
	if found || err != nil {
		return file, err
	}
	content, err := signing.NewKey()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return "", err
	}
	temporary, err := os.CreateTemp(data, "signing-key-*") // mode 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(temporary.Name())
	defer temporary.Close()
	if _, err := temporary.Write(content); err != nil {
		return "", err
	}
	if err := temporary.Sync(); err != nil {
		return "", err
	}
	return file, os.Rename(temporary.Name(), file)
}
