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
	// keyAge is how long keys are used before they are fetched again: a key that an issuer has
	// removed is accepted for at most this long while the issuer can be reached.
	keyAge = time.Hour
	// graceAge is how much longer keys are used if they cannot be fetched again: a removed key is
	// accepted for at most keyAge + graceAge, two hours, whatever happens.
	graceAge = time.Hour
	// attemptPause is the least time from the end of one attempt to fetch the keys of an issuer to
	// the next, be it because its token has an unknown key or because the last attempt failed.
	attemptPause = 10 * time.Second
	// maxKept bounds the memory of all that is kept, in bytes: some 10,000 issuers. What is dropped is
	// fetched again when it is needed, within attemptPause only if so much was fetched in that time.
	maxKept = 32 << 20
	// keySize is about how much memory a key takes up beside its id, and issuerSize an issuer beside
	// its name and its keys.
	keySize, issuerSize = 1 << 10, 512

	unreachableMessage = "The keys of the token's issuer cannot be fetched, please try again."
	// maxLoggedError is how much of the error of an attempt is logged, in bytes: it may hold the answer.
	maxLoggedError = 500
)

// issuers keeps the keys of issuers.
type issuers struct {
	client *http.Client
	clock  evidence.Clock
	log    *slog.Logger

	attempts singleflight.Group
	// known is changed by attempts alone, of which there is one at a time for each issuer.
	known cache.LRU[issuer]
	// check verifies a signature with a key.
	check  func(jws *jose.JSONWebSignature, key any) ([]byte, error)
	decoys decoys
}

// issuer is the cached state of an issuer.
type issuer struct {
	// keys are those of the last attempt that succeeded, at fetched.
	keys    []jose.JSONWebKey
	fetched time.Time
	// failure is the error of the last attempt, which ended at attempted.
	failure   error
	attempted time.Time
}

func newIssuers(client *http.Client, clock evidence.Clock, log *slog.Logger) *issuers {
	return &issuers{client: client, clock: clock, log: log, known: cache.NewLRU[issuer](maxKept), check: (*jose.JSONWebSignature).Verify, decoys: newDecoys()}
}

// verify returns the payload of a token that a key of its issuer has signed. If none of the known
// keys has, they are fetched again, as the issuer may have a new one.
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

// usable returns an issuer whose keys are not too old, which may take an attempt to fetch them.
func (i *issuers) usable(ctx context.Context, name string) (issuer, error) {
	known, _ := i.known.Get(name)
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

// renew makes an attempt to fetch the keys of an issuer, unless the last one is recent, and returns what is known then.
// Requests for one issuer share an attempt, and it goes on when one of them ends; the error is that of ctx.
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
	known, _ := i.known.Get(name)
	if i.age(known.attempted) < attemptPause {
		return known
	}
	// A panic over the answers of others would end the process, as no request waits for it here.
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
	i.known.Put(name, known, known.size(name))
	return known
}

// age returns how long ago a moment was; one in the future, as the clock was set back, counts as long ago.
func (i *issuers) age(moment time.Time) time.Duration {
	if age := i.clock().Sub(moment); age >= 0 {
		return age
	}
	return math.MaxInt64
}

// size is about how much memory an issuer takes up.
func (i issuer) size(name string) int {
	size := issuerSize + len(name)
	for _, key := range i.keys {
		size += keySize + len(key.KeyID)
	}
	return size
}

// maxChecks is with how many keys a token is compared. More than one fit only if the issuer gives
// several keys one id, or its tokens name no key.
const maxChecks = 4

// verifyWith returns the payload of a token that one of the keys of an issuer has signed. If none
// has, it makes maxChecks checks however many keys there are, so that the time reveals nothing about the keys.
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
		// A decoy is nobody's key, so the result does not matter.
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
