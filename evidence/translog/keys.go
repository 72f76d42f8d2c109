package translog

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"attestry/evidence"

	"golang.org/x/mod/sumdb/note"
)

// Keys are private keys that sign checkpoints. All of them sign, so that a new key can be published before an old one
// is removed.
type Keys []ed25519.PrivateKey

// NewKeyFile makes a key file with a new key.
func NewKeyFile() ([]byte, error) {
	private, _, err := note.GenerateKey(rand.Reader, "attestry-log")
	return []byte(private + "\n"), err
}

// ParseKeys reads a key file: a line for each private key in the form of signed notes, PRIVATE+KEY+name+hash+key. The
// names are ignored, as each log signs in the name of its origin. Callers put the file's name before
// errors, which do not reveal its content.
func ParseKeys(file []byte) (Keys, error) {
	var keys Keys
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if _, err := note.NewSigner(line); err != nil {
			return nil, fmt.Errorf("has as key %d no private key in the form of signed notes, PRIVATE+KEY+name+hash+key", len(keys)+1)
		}
		// The library has checked the form: a byte for the algorithm, Ed25519, precedes the seed.
		key, err := base64.StdEncoding.DecodeString(strings.SplitN(line, "+", 5)[4])
		if err != nil {
			return nil, err
		}
		keys = append(keys, ed25519.NewKeyFromSeed(key[1:]))
	}
	if len(keys) == 0 {
		return nil, errors.New("has no key")
	}
	return keys, nil
}

// Verifiers are the public keys of the log of an origin, in the form of signed notes, name+hash+key.
func (k Keys) Verifiers(origin string) []string {
	return evidence.Map(k, func(private ed25519.PrivateKey) string {
		verifier, _ := note.NewEd25519VerifierKey(origin, private.Public().(ed25519.PublicKey)) // fails for other sizes only
		return verifier
	})
}

// ParseVerifiers reads public keys in the form of signed notes, name+hash+key, one per line, with errors as in
// ParseKeys.
func ParseVerifiers(file string) ([]string, error) {
	verifiers := slices.Compact(slices.Sorted(slices.Values(strings.Fields(file))))
	for _, verifier := range verifiers {
		if _, err := note.NewVerifier(verifier); err != nil {
			return nil, errors.New("has something else than verifier keys in the form of signed notes, name+hash+key")
		}
	}
	if len(verifiers) == 0 {
		return nil, errors.New("has no key")
	}
	return verifiers, nil
}

// signer signs in the name of an origin.
type signer struct {
	note.Verifier
	key ed25519.PrivateKey
}

// Sign signs a message.
func (s signer) Sign(message []byte) ([]byte, error) { return ed25519.Sign(s.key, message), nil }
