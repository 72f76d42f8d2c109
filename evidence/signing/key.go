// Package signing makes DSSE envelopes with ECDSA P-256 signatures over SHA-256, alone or in Sigstore bundles.
package signing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Key is a private key. Its String does not reveal it.
type Key struct {
	private *ecdsa.PrivateKey
	public  []byte // SubjectPublicKeyInfo, DER
}

// NewKey makes a key and returns it as PKCS#8 in PEM form.
func NewKey() ([]byte, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ParseKey reads the first private key of a PEM file, in PKCS#8 or SEC 1. Callers put the file's name before errors.
func ParseKey(content []byte) (*Key, error) {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue // openssl writes EC PARAMETERS before a key
		}
		private, err := parsePrivate(block)
		if err != nil {
			return nil, err
		}
		public, err := x509.MarshalPKIXPublicKey(private.Public())
		if err != nil {
			return nil, fmt.Errorf("has a key that cannot be encoded: %w", err)
		}
		return &Key{private: private, public: public}, nil
	}
	return nil, errors.New("has no private key in PEM form (BEGIN PRIVATE KEY or BEGIN EC PRIVATE KEY)")
}

func parsePrivate(block *pem.Block) (*ecdsa.PrivateKey, error) {
	var parsed any
	var err error
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
		return nil, errors.New("has an encrypted key, store it without a passphrase")
	case block.Type == "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case block.Type == "EC PRIVATE KEY":
		parsed, err = x509.ParseECPrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("has a damaged key: %w", err)
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return nil, errors.New("has a key of another kind than ECDSA P-256")
	}
	return private, nil
}

// PublicKey is the public key in PEM form.
func (k *Key) PublicKey() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.public}))
}

// Hint identifies the key: the SHA-256 of its public key in DER form, in base64, as cosign writes it.
func (k *Key) Hint() string {
	sum := sha256.Sum256(k.public)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// String keeps the key out of logs.
func (k *Key) String() string { return "signing key " + k.Hint() }

// GoString is String.
func (k *Key) GoString() string { return k.String() }
