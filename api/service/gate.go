package service

import (
	"io"

	"github.com/go-redis/redis_rate/v10"

	"attestry/api/access"
	"attestry/api/limits"
	"attestry/api/oidc"
	"attestry/process"
	"attestry/tasks"
)

// newGate makes the gate, and the Redis client of its rate limits, nil if there are none.
func newGate(p *process.Process, tokens *oidc.Verifier) (*access.Gate, io.Closer, error) {
	settings := p.Settings.Limits
	metrics := limits.NewMetrics(p.Metrics, settings, p.Clock)
	gate := &access.Gate{
		Identities: p.Store.Tenancy, Tokens: tokens,
		Certificates: p.Settings.HTTP.TLSClientAccounts, Clock: p.Clock,
	}
	if settings.FailedKeyLimit > 0 {
		gate.Attempts = limits.NewAttempts(limits.AttemptsOptions{
			PerMinute: settings.FailedKeyLimit, Proxies: limits.Proxies(settings.TrustedProxies),
			Clock: p.Clock, Log: p.Log, Metrics: metrics,
		})
	}
	if settings.RateLimitKey == 0 && settings.RateLimitOrg == 0 {
		return gate, nil, nil
	}
	// The process's client may take seconds for a command, and all its connections may be in use.
	redis, err := tasks.NewRedisWithin(p.Settings.Stores.Redis.URL.Reveal(), limits.RedisTimeout, p.Roots)
	if err != nil {
		return nil, nil, err
	}
	gate.Rates = &limits.Rates{
		PerKey: settings.RateLimitKey, PerOrganization: settings.RateLimitOrg,
		Buckets: redis_rate.NewLimiter(redis), Clock: p.Clock, Log: p.Log, Metrics: metrics,
	}
	return gate, redis, nil
}
