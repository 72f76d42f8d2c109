package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"log/slog"
	"math"
	"math/big"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"attestry/evidence"
	"attestry/goroutine"
	"attestry/storage/cache"
)

const (
	// keyAge is how long keys are used before they are fetched again. While the issuer can be reached, a removed key is
	// accepted for at most this time.
	keyAge = time.Hour
	// graceAge is how much longer keys are used if they cannot be fetched. In any case a removed key is accepted for at
	// most keyAge + graceAge, two hours.
	graceAge = time.Hour
	// attemptPause is the minimum time from the end of one attempt to fetch the keys of an issuer to the next one,
	// which follows a failure or a token with an unknown key.
	attemptPause = 10 * time.Second
	// maxCached bounds the cache in bytes: about 10,000 issuers. An evicted issuer is fetched again when it is needed,
	// even within attemptPause.
	maxCached = 32 << 20
	// keySize is the approximate memory of a key without its id, issuerSize that of an issuer without name and keys.
	keySize, issuerSize = 1 << 10, 512

	unreachableMessage = "The keys of the token's issuer cannot be fetched, please try again."
	// maxLoggedError bounds the logged error of an attempt, in bytes, as it may contain the issuer's answer.
	maxLoggedError = 500
)

// issuers fetches and caches the keys of issuers.
type issuers struct {
	client *http.Client
	clock  evidence.Clock
	log    *slog.Logger

	attempts singleflight.Group
	// cached is changed only by attempts, of which there is one at a time for each issuer.
	cached cache.LRU[issuer]
	// check verifies a signature with a key.
	check  func(jws *jose.JSONWebSignature, key any) ([]byte, error)
	decoys decoys
}

// issuer is the cached state of an issuer.
type issuer struct {
	// keys are those of the last successful attempt, at fetched.
	keys    []jose.JSONWebKey
	fetched time.Time
	// failure is the error of the last attempt, which ended at attempted, nil if it succeeded.
	failure   error
	attempted time.Time
}

func newIssuers(client *http.Client, clock evidence.Clock, log *slog.Logger) *issuers {
	return &issuers{client: client, clock: clock, log: log, cached: cache.NewLRU[issuer](maxCached), check: (*jose.JSONWebSignature).Verify, decoys: newDecoys()}
}

// verify returns the payload of a token if a key of its issuer verifies the signature. If no cached key does, the keys
// are fetched again, as the issuer may have a new one.
func (i *issuers) verify(ctx context.Context, token parsedToken) ([]byte, error) {
	known, err := i.usable(ctx, token.issuer)
	if err != nil {
		return nil, err
	}
	if payload, ok := i.verifyWith(known, token.jws); ok {
		return payload, nil
	}
	renewed, err := i.renew(ctx, token.issuer)
	if err != nil {
		return nil, err
	}
	if renewed.failure != nil {
		return nil, renewed.failure
	}
	if !renewed.fetched.Equal(known.fetched) {
		if payload, ok := i.verifyWith(renewed, token.jws); ok {
			return payload, nil
		}
	}
	return nil, refusal("no key of the issuer verifies the signature")
}

// usable returns an issuer whose keys are not too old. It may fetch them.
func (i *issuers) usable(ctx context.Context, name string) (issuer, error) {
	known, _ := i.cached.Get(name)
	if i.age(known.fetched) < keyAge {
		return known, nil
	}
	known, err := i.renew(ctx, name)
	if err != nil {
		return issuer{}, err
	}
	if known.failure != nil && i.age(known.fetched) >= keyAge+graceAge {
		return issuer{}, known.failure
	}
	return known, nil
}

// renew fetches the keys of an issuer, unless the last attempt was within attemptPause, and returns the cached state.
// The requests for an issuer share an attempt, which continues if one of them ends. The only error is that of ctx.
func (i *issuers) renew(ctx context.Context, name string) (issuer, error) {
	ended := i.attempts.DoChan(name, func() (any, error) { return i.attempt(name), nil })
	select {
	case <-ctx.Done():
		return issuer{}, ctx.Err()
	case result := <-ended:
		return result.Val.(issuer), nil
	}
}

func (i *issuers) attempt(name string) issuer {
	known, _ := i.cached.Get(name)
	if i.age(known.attempted) < attemptPause {
		return known
	}
	// Recover from a panic over the issuer's answer. It would end the process, as this goroutine serves no request.
	var keys []jose.JSONWebKey
	err := goroutine.Recovered(func() (err error) {
		keys, err = i.fetch(name)
		return err
	})
	known.attempted, known.failure = i.clock(), nil
	if err == nil {
		known.keys, known.fetched = keys, known.attempted
	} else {
		known.failure = failureOf(err)
		text := err.Error()
		i.log.Warn("the keys of an identity provider cannot be fetched", slog.String("issuer", name), slog.String("error", text[:min(len(text), maxLoggedError)]))
	}
	i.cached.Put(name, known, known.size(name))
	return known
}

// age returns the time since t. If t is in the future, as the clock was set back, the age is infinite.
func (i *issuers) age(t time.Time) time.Duration {
	if age := i.clock().Sub(t); age >= 0 {
		return age
	}
	return math.MaxInt64
}

// size is the approximate memory of an issuer, in bytes.
func (i issuer) size(name string) int {
	size := issuerSize + len(name)
	for _, key := range i.keys {
		size += keySize + len(key.KeyID)
	}
	return size
}

// maxChecks bounds the keys that are tried for a token. More than one fits only if the issuer has several keys with one
// id, or its tokens have no key id.
const maxChecks = 4

// verifyWith returns the payload of a token if a key of an issuer verifies the signature. Otherwise it makes exactly
// maxChecks checks, so that the time reveals nothing about the keys.
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
		_, _ = i.check(jws, decoy) // The result does not matter, as a decoy is the key of no issuer.
	}
	return nil, false
}

// fits reports whether a key may have signed a token with this header.
func fits(key jose.JSONWebKey, header jose.Header) bool {
	return (header.KeyID == "" || key.KeyID == header.KeyID) && (key.Algorithm == "" || key.Algorithm == header.Algorithm) &&
		string(algorithmOf(key)) == header.Algorithm
}

// decoys are public keys of no issuer, one for each algorithm.
type decoys map[jose.SignatureAlgorithm]any

func newDecoys() decoys {
	// The modulus is only for the work of a check, so it need not be a product of two primes.
	modulus := new(big.Int).Lsh(big.NewInt(1), minRSA)
	modulus.Sub(modulus, big.NewInt(1))
	keys := decoys{jose.RS256: &rsa.PublicKey{N: modulus, E: 65537}}
	// crypto/rand never fails.
	if key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err == nil {
		keys[jose.ES256] = key.Public()
	}
	if public, _, err := ed25519.GenerateKey(rand.Reader); err == nil {
		keys[jose.EdDSA] = public
	}
	return keys
}
