package limits

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"attestry/evidence"
	"attestry/storage/cache"
)

const (
	// maxAddresses bounds the client addresses whose failed attempts are remembered: some 3 MB.
	maxAddresses = 10_000
	// clientBits is how much of an IPv6 address is that of a client: whoever has one address
	// usually has the whole network of 64 bits, and could change the rest at will.
	clientBits = 64

	attemptsMessage = "Too many requests with invalid API keys, please try again later."
)

// Attempts limits how many failed attempts to authenticate of a client address are answered as
// such in a minute; further ones are answered 429. It counts in the memory of the process. A nil *Attempts limits nothing.
type Attempts struct {
	AttemptsOptions
	refused prometheus.Counter
	warned  sync.Once

	mu sync.Mutex
	// failed holds a bucket for each address with failures, which each failure takes from.
	failed cache.LRU[*rate.Limiter]
}

// AttemptsOptions say how attempts are limited.
type AttemptsOptions struct {
	// PerMinute is how many failed attempts an address may make in a minute, or all at once; more than 0.
	PerMinute int
	Proxies   Proxies
	Clock     evidence.Clock
	Log       *slog.Logger
	Metrics   *Metrics
}

// NewAttempts makes a limit of failed attempts.
func NewAttempts(options AttemptsOptions) *Attempts {
	return &Attempts{
		AttemptsOptions: options, refused: options.Metrics.refused.WithLabelValues(ofAddress),
		failed: cache.NewLRU[*rate.Limiter](maxAddresses),
	}
}

// Judge counts an evidence.Unauthorized error of an attempt to authenticate as a failed one. It
// returns the error that answers the attempt: beyond the limit, an evidence.RateLimited error.
//
// Attempts are judged after the secret was looked up, never before. Clients that share an address must not lock
// each other out, and only the look-up shows whether a secret is good.
func (a *Attempts) Judge(from Origin, err error) error {
	if a == nil || evidence.CodeOf(err) != evidence.Unauthorized {
		return err
	}
	wait := a.count(addressOf(a.Proxies.Client(from)))
	if wait == 0 {
		return err
	}
	a.refused.Inc()
	a.warn(from)
	return &evidence.Error{Code: evidence.RateLimited, Message: attemptsMessage, RetryAfter: wait}
}

// count takes a failed attempt from the bucket of an address. From an empty one it takes nothing,
// and returns how long it takes until there is room for an attempt.
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
	a.Metrics.fullest[ofAddress].note(a.PerMinute - int(left))
	if allowed {
		return 0
	}
	missing := 1 - left
	return time.Duration(missing * float64(time.Minute) / float64(a.PerMinute))
}

// warn says once that requests come through a proxy that is not trusted, so that all its clients count as one.
func (a *Attempts) warn(from Origin) {
	if len(from.ForwardedFor) == 0 || a.Proxies.trusts(plain(from.Peer)) {
		return
	}
	a.warned.Do(func() {
		a.Log.Warn("refused an address that forwards requests and is no trusted proxy", "address", from.Peer.String())
	})
}

// addressOf names the bucket of a client.
func addressOf(client netip.Addr) string {
	if client.Is6() {
		// The length fits every IPv6 address.
		network, _ := client.Prefix(clientBits)
		return network.String()
	}
	return client.String()
}
