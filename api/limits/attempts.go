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
	// maxSecrets bounds the good secrets that are remembered: some 2 MB.
	maxSecrets = 10_000
	// clientBits is how much of an IPv6 address is that of a client: whoever has one address
	// usually has the whole network of 64 bits, and could change the rest at will.
	clientBits = 64

	attemptsMessage = "Too many requests with invalid API keys, please try again later."
)

// Attempts limits how many failed attempts to authenticate a client address may make in a
// minute. It counts in the memory of the process. A nil *Attempts limits nothing.
type Attempts struct {
	perMinute int
	proxies   Proxies
	clock     evidence.Clock
	log       *slog.Logger
	refused   prometheus.Counter
	warned    sync.Once
	// good holds the hashes of secrets that authenticated.
	good *cache.LRU[struct{}]

	mu sync.Mutex
	// failed holds a bucket for each address with failures, which each failure takes from.
	failed *cache.LRU[*rate.Limiter]
}

// AttemptsOptions say how attempts are limited.
type AttemptsOptions struct {
	// PerMinute is how many failed attempts an address may make in a minute, or all at
	// once; more than 0.
	PerMinute int
	Proxies   Proxies
	Clock     evidence.Clock
	Log       *slog.Logger
	Metrics   *Metrics
}

// NewAttempts makes a limit of failed attempts.
func NewAttempts(options AttemptsOptions) *Attempts {
	return &Attempts{
		perMinute: options.PerMinute,
		proxies:   options.Proxies,
		clock:     options.Clock,
		log:       options.Log,
		refused:   options.Metrics.refused.WithLabelValues(ofAddress),
		good:      cache.NewLRU[struct{}](maxSecrets),
		failed:    cache.NewLRU[*rate.Limiter](maxAddresses),
	}
}

// Check returns an evidence.RateLimited error for a secret that must not be looked up,
// because too many others that came from the same address were wrong. A secret that was good
// before may always be tried: clients behind one address must not lock each other out.
func (a *Attempts) Check(from Origin, secret string) error {
	if a == nil {
		return nil
	}
	wait := a.wait(a.Client(from))
	if wait == 0 {
		return nil
	}
	if _, ok := a.good.Get(evidence.HashAPIKey(secret)); ok {
		return nil
	}
	a.refused.Inc()
	a.warn(from)
	return &evidence.Error{Code: evidence.RateLimited, Message: attemptsMessage, RetryAfter: wait}
}

// Client names the address that a request comes from, by which attempts are limited.
func (a *Attempts) Client(from Origin) string { return addressOf(a.proxies.Client(from)) }

// Note takes note of how an attempt ended: with a principal, or with an error of which
// evidence.Unauthorized is a failed attempt.
func (a *Attempts) Note(from Origin, secret string, principal evidence.Principal, err error) {
	switch {
	case a == nil:
	case principal != evidence.Principal{}:
		a.remember(evidence.HashAPIKey(secret))
	case evidence.CodeOf(err) == evidence.Unauthorized:
		a.good.Remove(evidence.HashAPIKey(secret))
		a.count(a.Client(from))
	}
}

func (a *Attempts) remember(hash string) {
	if _, ok := a.good.Get(hash); !ok {
		a.good.Put(hash, struct{}{}, 1)
	}
}

// wait is how long it takes until an address may make a failed attempt again.
func (a *Attempts) wait(address string) time.Duration {
	bucket, ok := a.failed.Get(address)
	if !ok {
		return 0
	}
	missing := 1 - bucket.TokensAt(a.clock())
	return time.Duration(max(0, missing) * float64(time.Minute) / float64(a.perMinute))
}

// count takes a failed attempt from the bucket of an address. Attempts that were under way
// together may take more than there is, which delays the next one.
func (a *Attempts) count(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	bucket, ok := a.failed.Get(address)
	if !ok {
		bucket = rate.NewLimiter(rate.Limit(a.perMinute)/60, a.perMinute)
		a.failed.Put(address, bucket, 1)
	}
	bucket.ReserveN(a.clock(), 1)
}

// warn says once that requests come through a proxy that is not trusted, so that all its
// clients count as one.
func (a *Attempts) warn(from Origin) {
	if len(from.ForwardedFor) == 0 || a.proxies.trusts(plain(from.Peer)) {
		return
	}
	a.warned.Do(func() {
		a.log.Warn("refused an address that forwards requests and is no trusted proxy", "address", from.Peer.String())
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
