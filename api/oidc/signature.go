package oidc

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"math/big"

	"github.com/go-jose/go-jose/v4"
)

// maxChecks is with how many keys a token is compared. More than one fit only if the issuer gives
// several keys one id, or its tokens name no key.
const maxChecks = 4

// verifyWith returns the payload of a token that one of the keys of an issuer has signed. If none
// has, it has made maxChecks checks, however many keys there are: the time does not tell.
func (i *issuers) verifyWith(known issuer, jws *jose.JSONWebSignature) (payload []byte, ok bool) {
	header := jws.Signatures[0].Protected
	left := maxChecks
	for _, key := range known.keys {
		if left == 0 {
			break
		}
		if !fits(key, header) {
			continue
		}
		left--
		if payload, err := i.check(jws, key); err == nil {
			return payload, true
		}
	}
	decoy := i.decoys[jose.SignatureAlgorithm(header.Algorithm)]
	for range left {
		// Whatever it returns, a decoy is the key of nobody.
		_, _ = i.check(jws, decoy)
	}
	return nil, false
}

// fits reports whether a key may have signed a token with that header.
func fits(key jose.JSONWebKey, header jose.Header) bool {
	return (header.KeyID == "" || key.KeyID == header.KeyID) && (key.Algorithm == "" || key.Algorithm == header.Algorithm) &&
		string(algorithmOf(key)) == header.Algorithm
}

// decoys are public keys of nobody, one for each algorithm.
type decoys map[jose.SignatureAlgorithm]any

func newDecoys() decoys {
	// Signatures are only compared with it, and so it need not be a product of two primes.
	modulus := new(big.Int).Lsh(big.NewInt(1), minRSA)
	modulus.Sub(modulus, big.NewInt(1))
	made := decoys{jose.RS256: &rsa.PublicKey{N: modulus, E: 65537}}
	// The source of randomness of crypto/rand never fails.
	if key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err == nil {
		made[jose.ES256] = key.Public()
	}
	if public, _, err := ed25519.GenerateKey(rand.Reader); err == nil {
		made[jose.EdDSA] = public
	}
	return made
}
