package translog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

const (
	// cosignatureV1 is the algorithm byte of keys for timestamped Ed25519 cosignatures (C2SP tlog-cosignature).
	cosignatureV1 = 0x04
	timestampSize = 8
)

// WitnessKey is the public key of a witness. It is the note.Verifier of cosignatures.
type WitnessKey struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

// ParseWitnessKey reads a key for cosignatures in the form of signed notes, name+hash+key.
func ParseWitnessKey(text string) (WitnessKey, error) {
	parts := strings.SplitN(text, "+", 3)
	if len(parts) < 3 || parts[0] == "" || strings.ContainsAny(parts[0], " \n\t") {
		return WitnessKey{}, errors.New("is not of the form name+hash+key")
	}
	encoded, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(encoded) != 1+ed25519.PublicKeySize || encoded[0] != cosignatureV1 {
		return WitnessKey{}, errors.New("has no key for cosignature/v1 (algorithm 4, Ed25519) behind its hash")
	}
	sum := sha256.Sum256([]byte(parts[0] + "\n" + string(encoded)))
	if hex.EncodeToString(sum[:4]) != parts[1] {
		return WitnessKey{}, errors.New("has a hash that is not the one of its name and key")
	}
	return WitnessKey{name: parts[0], hash: binary.BigEndian.Uint32(sum[:]), key: encoded[1:]}, nil
}

// Name is the name of the witness.
func (k WitnessKey) Name() string { return k.name }

// KeyHash distinguishes keys of the same name.
func (k WitnessKey) KeyHash() uint32 { return k.hash }

// Verify verifies a cosignature of the text of a note.
func (k WitnessKey) Verify(text, signature []byte) bool {
	if len(signature) != timestampSize+ed25519.SignatureSize {
		return false
	}
	signed := fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(signature), text)
	return ed25519.Verify(k.key, signed, signature[timestampSize:])
}

// Cosignature returns the line with the witness's signature of a checkpoint. answer is the witness's response, the
// lines of one or more signatures. It is an error if none is of the key.
func (k WitnessKey) Cosignature(checkpoint, answer string) (string, error) {
	text, _, _ := strings.Cut(checkpoint, "\n\n")
	opened, err := note.Open([]byte(text+"\n\n"+answer), note.VerifierList(k))
	if err != nil {
		return "", fmt.Errorf("the answer has no cosignature of the witness: %w", err)
	}
	return fmt.Sprintf("— %s %s\n", k.name, opened.Sigs[0].Base64), nil
}
