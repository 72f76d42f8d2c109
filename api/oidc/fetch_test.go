package oidc

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

func TestRSAKeysThatAreTooShortOrTooLongAreIgnored(t *testing.T) {
	for bits, want := range map[int]int{1024: 0, 2040: 0, 2048: 1, 4096: 1, 4104: 0, 65536: 0} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			modulus := base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, bits/8))
			keys, err := parseKeys([]byte(`{"keys": [{"kty": "RSA", "e": "AQAB", "n": "` + modulus + `"}]}`))
			if err != nil || len(keys) != want {
				t.Errorf("read %d keys, %v", len(keys), err)
			}
		})
	}
}

func TestOnlyKeysOfTheCurveOfES256AreUsed(t *testing.T) {
	for curve, want := range map[elliptic.Curve]int{elliptic.P256(): 1, elliptic.P384(): 0, elliptic.P521(): 0} {
		t.Run(curve.Params().Name, func(t *testing.T) {
			private, err := ecdsa.GenerateKey(curve, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: private.Public()}}})
			if err != nil {
				t.Fatal(err)
			}
			if keys, err := parseKeys(set); err != nil || len(keys) != want {
				t.Errorf("read %d keys, %v", len(keys), err)
			}
		})
	}
}
