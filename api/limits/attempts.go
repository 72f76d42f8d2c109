package limits

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"attestry/evidence"
	"attestry/storage/cache"
)

const (
	// maxAddresses bounds the client addresses whose failed attempts are counted: about 3 MB.
	maxAddresses = 10_000
	// clientBits is the prefix length of an IPv6 address that identifies a client. A client usually has a whole /64
	// network, and could change the other bits at will.
	clientBits = 64

	attemptsMessage = "Too many requests with invalid API keys, please try again later."
)

// Attempts limits the failed attempts of a client address to authenticate in a minute; further ones are answered 429.
// It counts in the memory of the process. A nil *Attempts limits nothing.
type Attempts struct {
	AttemptsOptions
	warned sync.Once

	mu sync.Mutex
	// failed has a token bucket for each address with failures. Each failure takes a token.
	failed cache.LRU[*rate.Limiter]
}

// AttemptsOptions are the settings and dependencies of Attempts.
type AttemptsOptions struct {
	// PerMinute is how many failed attempts an address may make in a minute, or in one burst; more than 0.
	PerMinute int
	Proxies   Proxies
	Clock     evidence.Clock
	Log       *slog.Logger
	Metrics   *Metrics
}

// NewAttempts makes a limit for failed attempts.
func NewAttempts(options AttemptsOptions) *Attempts {
	return &Attempts{AttemptsOptions: options, failed: cache.NewLRU[*rate.Limiter](maxAddresses)}
}

// Judge counts a failed attempt if err, the result of authenticating, is evidence.Unauthorized. It returns err, or an
// evidence.RateLimited error if the address has exceeded the limit.
//
// It must be called after the lookup of the secret. Clients that share an address must not lock each other out, and
// only the lookup shows whether a secret is valid.
func (a *Attempts) Judge(from Origin, err error) error {
	if a == nil || evidence.CodeOf(err) != evidence.Unauthorized {
		return err
	}
	wait := a.count(addressOf(a.Proxies.Client(from)))
	if wait == 0 {
		return err
	}
	a.Metrics.refused.WithLabelValues(ofAddress).Inc()
	a.warn(from)
	return &evidence.Error{Code: evidence.RateLimited, Message: attemptsMessage, RetryAfter: wait}
}

// count takes a token from the bucket of an address. If the bucket is empty, it returns the time until the next token.
func (a *Attempts) count(address string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	bucket, ok := a.failed.Get(address)
	if !ok {
		bucket = rate.NewLimiter(rate.Limit(a.PerMinute)/60, a.PerMinute)
		a.failed.Put(address, bucket, 1)
	}
	now := a.Clock()
	allowed, left := bucket.AllowN(now, 1), bucket.TokensAt(now)
	a.Metrics.fullest[ofAddress].observe(a.PerMinute - int(left))
	if allowed {
		return 0
	}
	missing := 1 - left
	return time.Duration(missing * float64(time.Minute) / float64(a.PerMinute))
}

// warn logs once that requests come through a proxy that is not trusted, so that all its clients count as one.
func (a *Attempts) warn(from Origin) {
	if len(from.ForwardedFor) == 0 || a.Proxies.trusts(canonical(from.Peer)) {
		return
	}
	a.warned.Do(func() {
		a.Log.Warn("refused an address that forwards requests and is no trusted proxy", "address", from.Peer.String())
	})
}

// addressOf is the name of a client's bucket.
func addressOf(client netip.Addr) string {
	if client.Is6() {
		network, _ := client.Prefix(clientBits) // valid for every IPv6 address
		return network.String()
	}
	return client.String()
}
