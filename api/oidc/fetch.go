package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	openid "github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"attestry/evidence"
)

const (
	// fetchTime bounds an attempt to fetch the discovery document and the keys.
	fetchTime = 10 * time.Second
	// minRSA is the minimum length of an RSA key in bits. go-jose ignores keys of more than 4096 bits, which are slow.
	minRSA = 2048
)

// failureOf returns the error for the requests that wait for a failed attempt. They may retry, unless the discovery
// document is not valid.
func failureOf(err error) error {
	if _, other := errors.AsType[*openid.IssuerMismatchError](err); other {
		return refusal("the discovery document of the issuer is of another issuer")
	}
	if reason, ok := errors.AsType[refusal](err); ok {
		return reason
	}
	return &evidence.Error{Code: evidence.Unavailable, Message: unreachableMessage, RetryAfter: attemptPause}
}

// fetch reads the discovery document and the keys of an issuer, with a context of its own, as requests share it.
func (i *issuers) fetch(name string) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	provider, err := openid.NewProvider(openid.ClientContext(ctx, i.client), name)
	if err != nil {
		return nil, err
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&document); err != nil {
		return nil, err
	}
	if !isHTTPS(document.Keys) {
		return nil, refusal("the discovery document of the issuer has no https URL as jwks_uri")
	}
	return i.fetchKeys(ctx, document.Keys)
}

// fetchKeys is openid.RemoteKeySet without the caching. It ignores keys that are weak or not for signatures.
func (i *issuers) fetchKeys(ctx context.Context, address string) ([]jose.JSONWebKey, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := i.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers with status %d", address, response.StatusCode)
	}
	return parseKeys(body)
}

// parseKeys parses a JSON Web Key Set. It ignores keys of unknown types (RFC 7517, section 5).
func parseKeys(body []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("the keys cannot be read: %w", err)
	}
	if set.Keys == nil {
		return nil, errors.New("the JSON Web Key Set has no member keys")
	}
	var keys []jose.JSONWebKey
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) == nil && (key.Use == "" || key.Use == "sig") && algorithmOf(key) != "" {
			// Without its certificates, which would take up memory.
			keys = append(keys, jose.JSONWebKey{Key: key.Key, KeyID: key.KeyID, Algorithm: key.Algorithm})
		}
	}
	return keys, nil
}

// algorithmOf returns the algorithm of a key, "" if there is none.
func algorithmOf(key jose.JSONWebKey) jose.SignatureAlgorithm {
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		if public.N.BitLen() >= minRSA {
			return jose.RS256
		}
	case *ecdsa.PublicKey:
		if public.Curve == elliptic.P256() {
			return jose.ES256
		}
	case ed25519.PublicKey:
		return jose.EdDSA
	}
	return ""
}
