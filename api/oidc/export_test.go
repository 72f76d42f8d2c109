package oidc

import (
	"sync/atomic"

	"github.com/go-jose/go-jose/v4"

	"attestry/storage/cache"
)

// CountChecks counts the signature checks from now on. A token is checked once per key.
func (v *Verifier) CountChecks() *atomic.Int64 {
	count, check := &atomic.Int64{}, v.issuers.check
	v.issuers.check = func(jws *jose.JSONWebSignature, key any) ([]byte, error) {
		count.Add(1)
		return check(jws, key)
	}
	return count
}

// KeepAtMost bounds the cache of issuers, in bytes.
func (v *Verifier) KeepAtMost(size int) { v.issuers.cached = cache.NewLRU[issuer](size) }
