package limits

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"

	"attestry/evidence"
	"attestry/goroutine"
)

const (
	// RedisTimeout bounds how long a request waits for Redis.
	RedisTimeout = 100 * time.Millisecond
	// maxReset exceeds the time until any bucket is full, which is at most a minute.
	maxReset = time.Minute + time.Second

	rateMessage = "Rate limit exceeded, please try again later."
)

// Buckets are token buckets that all api processes share; redis_rate.Limiter implements it.
type Buckets interface {
	// Allow takes a token from the named bucket, if it has one.
	Allow(ctx context.Context, name string, limit redis_rate.Limit) (*redis_rate.Result, error)
	// Reset fills the named bucket.
	Reset(ctx context.Context, name string) error
}

// Rates limits how many requests a key and an organization may make in a minute. It limits nothing while Redis is
// unavailable. A nil *Rates never limits anything.
type Rates struct {
	// PerKey and PerOrganization are the limits for a minute, or for one burst; 0 means no limit.
	PerKey, PerOrganization int
	Buckets                 Buckets
	Clock                   evidence.Clock
	Log                     *slog.Logger
	Metrics                 *Metrics

	// timeout bounds how long a request waits for its buckets; 0 means RedisTimeout.
	timeout time.Duration

	mu sync.Mutex
	// away is set while Redis is unavailable, so that only the first requests wait for it. probeAt is the next probe.
	away    bool
	probeAt time.Time
}

// State is the state of a bucket after a request.
type State struct {
	// Limit is the size of the bucket in requests, 0 if no limit was applied.
	Limit int
	// Remaining is the number of further requests.
	Remaining int
	// Reset is the time until the bucket is full again.
	Reset time.Duration
}

// Take takes a token from the bucket of the key, then from that of the organization with an id, "" for none. It returns
// the state of the bucket with fewer tokens, and an evidence.RateLimited error if one is empty.
func (r *Rates) Take(ctx context.Context, principal evidence.Principal, orgID string) (State, error) {
	if r == nil {
		return State{}, nil
	}
	wanted := r.bucketsOf(principal, orgID)
	if len(wanted) == 0 {
		return State{}, nil
	}
	away, due := r.outage()
	if due {
		goroutine.Start(func() error {
			_, err := r.take(ctx, wanted)
			return err
		}, func(err error) {
			if err == nil {
				r.endOutage()
			}
		})
	}
	if away {
		r.Metrics.unlimited.Inc()
		return State{}, nil
	}
	answer, err := r.take(ctx, wanted)
	if err != nil {
		r.beginOutage(err)
		r.Metrics.unlimited.Inc()
		return State{}, nil
	}
	if answer.refusedBy != "" {
		r.Metrics.refused.WithLabelValues(answer.refusedBy).Inc()
		return answer.State, &evidence.Error{Code: evidence.RateLimited, Message: rateMessage, RetryAfter: answer.retryAfter}
	}
	return answer.State, nil
}

type bucket struct {
	kind, name string
	limit      redis_rate.Limit
}

// bucketsOf lists the buckets of a request. That of the key is first, so that a request beyond the limit of its key
// does not count for the organization.
func (r *Rates) bucketsOf(principal evidence.Principal, orgID string) []bucket {
	var wanted []bucket
	if r.PerKey > 0 {
		name := "attestry:key:" + principal.KeyID
		if principal.KeyID == "" {
			name = "attestry:user:" + principal.UserID
		}
		wanted = append(wanted, bucket{kind: ofKey, name: name, limit: redis_rate.PerMinute(r.PerKey)})
	}
	if r.PerOrganization > 0 && orgID != "" {
		wanted = append(wanted, bucket{kind: ofOrganization, name: "attestry:organization:" + orgID, limit: redis_rate.PerMinute(r.PerOrganization)})
	}
	return wanted
}

type answer struct {
	State
	// refusedBy is the kind of the empty bucket, "" for none.
	refusedBy  string
	retryAfter time.Duration
}

// take takes a token from each bucket, up to the first empty one. It ignores the cancellation of ctx, so that an error
// means that Redis does not answer.
func (r *Rates) take(ctx context.Context, wanted []bucket) (answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(r.timeout, RedisTimeout))
	defer cancel()
	var least answer
	for i, one := range wanted {
		result, err := r.Buckets.Allow(ctx, one.name, one.limit)
		if err == nil && result.ResetAfter > maxReset {
			// The clock of Redis was set back. Until it has caught up, the bucket would refuse all requests.
			if err = r.Buckets.Reset(ctx, one.name); err == nil {
				result, err = r.Buckets.Allow(ctx, one.name, one.limit)
			}
		}
		if err != nil {
			return answer{}, err
		}
		r.Metrics.fullest[one.kind].observe(result.Limit.Burst - result.Remaining)
		state := State{Limit: result.Limit.Burst, Remaining: result.Remaining, Reset: result.ResetAfter}
		if result.Allowed == 0 {
			return answer{State: state, refusedBy: one.kind, retryAfter: result.RetryAfter}, nil
		}
		if i == 0 || state.Remaining < least.Remaining {
			least.State = state
		}
	}
	return least, nil
}

// probePause is the time between two probes of an unavailable Redis.
const probePause = time.Second

// outage reports whether Redis is unavailable, and whether the caller should probe it: one caller in each probePause.
func (r *Rates) outage() (away, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.away {
		return false, false
	}
	now := r.Clock()
	if now.Before(r.probeAt) {
		return true, false
	}
	r.probeAt = now.Add(probePause)
	return true, true
}

func (r *Rates) beginOutage(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return
	}
	r.away, r.probeAt = true, r.Clock().Add(probePause)
	r.Log.Warn("Redis is away, rates are not limited", "error", err.Error())
}

func (r *Rates) endOutage() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		r.away = false
		r.Log.Info("Redis is back, rates are limited")
	}
}
