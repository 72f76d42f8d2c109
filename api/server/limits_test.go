package server

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/prometheus/client_golang/prometheus"

	"attestry/api/limits"
	"attestry/config"
	"attestry/evidence"
	"attestry/links"
)

// onlyBucket is one bucket for all keys, with room for left requests.
type onlyBucket struct{ left int }

func (b *onlyBucket) Allow(_ context.Context, _ string, limit redis_rate.Limit) (*redis_rate.Result, error) {
	if b.left == 0 {
		return &redis_rate.Result{Limit: limit, RetryAfter: 1100 * time.Millisecond, ResetAfter: time.Minute}, nil
	}
	b.left--
	return &redis_rate.Result{Limit: limit, Allowed: 1, Remaining: b.left, RetryAfter: -1, ResetAfter: 2500 * time.Millisecond}, nil
}

func (*onlyBucket) Reset(context.Context, string) error { return nil }

func newLimitMetrics() *limits.Metrics {
	return limits.NewMetrics(prometheus.NewRegistry(), config.Limits{}, time.Now)
}

// rateHeaders returns the headers of an answer that concern the limits.
func rateHeaders(got answer) [4]string {
	return [4]string{
		got.header.Get("RateLimit-Limit"), got.header.Get("RateLimit-Remaining"), got.header.Get("RateLimit-Reset"), got.header.Get("Retry-After"),
	}
}

func TestAnswersHaveHeadersOfTheRateLimit(t *testing.T) {
	bucket := &onlyBucket{}
	s := start(t, testRoutes(), func(d *Deps) {
		d.Gate.Rates = &limits.Rates{
			PerKey: 10, Buckets: bucket, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Metrics: newLimitMetrics(),
		}
	})
	limited := [4]string{"10", "4", "3", ""}
	for name, row := range map[string]struct {
		method, path, key string
		status            int
		headers           [4]string
	}{
		"success":                  {"GET", "/things/acme/x", "reader", 200, limited},
		"invalid input":            {"GET", "/things/acme/search?page=x", "reader", 400, limited},
		"error of the handler":     {"POST", "/things/acme/conflict/fail", "reader", 409, limited},
		"panic":                    {"POST", "/things/acme/panic/fail", "reader", 500, limited},
		"without an organization":  {"GET", "/mine", "reader", 200, limited},
		"no key":                   {"GET", "/mine", "", 401, [4]string{}},
		"wrong key":                {"GET", "/mine", "stranger", 401, [4]string{}},
		"organization of others":   {"GET", "/things/other/x", "reader", 403, [4]string{}},
		"role that is too low":     {"PUT", "/things/acme", "reader", 403, [4]string{}},
		"public operation":         {"POST", "/hooks/1", "reader", 200, [4]string{}},
		"path that does not exist": {"GET", "/nowhere", "reader", 404, [4]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			bucket.left = 5
			got := s.send(t, row.method, links.Prefix+row.path, row.key, "")
			if headers := rateHeaders(got); got.status != row.status || headers != row.headers {
				t.Errorf("%d with %q, want %d with %q: %s", got.status, headers, row.status, row.headers, got.body)
			}
			if counted := row.headers != [4]string{}; counted != (bucket.left == 4) {
				t.Errorf("%d are left", bucket.left)
			}
		})
	}
	bucket.left = 0
	got := s.send(t, "GET", links.Prefix+"/things/acme/x", "reader", "")
	got.expect(t, 429, "Rate limit exceeded, please try again later.")
	if headers := rateHeaders(got); headers != [4]string{"10", "0", "60", "2"} {
		t.Errorf("a refusal has %q", headers)
	}
	if got := s.send(t, "HEAD", links.Prefix+"/things/acme/x", "reader", ""); got.status != 429 {
		t.Errorf("HEAD is answered %d", got.status)
	}
}

func TestAnswersWithoutLimitsHaveNoHeadersOfLimits(t *testing.T) {
	s := start(t, testRoutes())
	got := s.send(t, "GET", links.Prefix+"/things/acme/x", "reader", "")
	if headers := rateHeaders(got); got.status != 200 || headers != [4]string{} {
		t.Errorf("%d with %q", got.status, headers)
	}
}

func TestOperationsThatNeedAKeyDocumentRefusalsOfLimits(t *testing.T) {
	s := start(t, testRoutes())
	for _, route := range testRoutes() {
		if _, ok := s.documented[route.OperationID].Responses[strconv.Itoa(statusOf(evidence.RateLimited))]; ok == route.Public {
			t.Errorf("%s documents 429: %v", route.OperationID, ok)
		}
	}
}
