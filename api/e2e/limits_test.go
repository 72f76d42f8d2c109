package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	rateExceeded    = "Rate limit exceeded, please try again later."
	tooManyAttempts = "Too many requests with invalid API keys, please try again later."
)

// limited lists the flows of an organization and repeats that until a limit is applied: on a busy machine Redis may
// answer too late, and then requests are not limited for a while.
func (s *service) limited(org, key string) answer {
	s.t.Helper()
	var got answer
	eventually(s.t, "a limit is applied", func() bool {
		if got = s.do(http.MethodGet, "/api/v2/flows/"+org, key, nil); got.header.Get("RateLimit-Limit") != "" {
			return true
		}
		s.clock.advance(time.Second)
		return false
	})
	return got
}

// exhaust lists the flows of an organization until the limit refuses it. It returns the refusal and the number of
// requests that passed.
func (s *service) exhaust(org, key, limit string) (refusal answer, passed int) {
	s.t.Helper()
	for left := 1 << 20; ; passed++ {
		got := s.limited(org, key)
		remaining, err := strconv.Atoi(got.header.Get("RateLimit-Remaining"))
		s.must(err)
		reset, err := strconv.Atoi(got.header.Get("RateLimit-Reset"))
		s.must(err)
		if got.header.Get("RateLimit-Limit") != limit || remaining >= left || reset < 1 || reset > 60 {
			s.t.Fatalf("after %d left, the headers are %v", left, got.header)
		}
		if got.status == http.StatusTooManyRequests {
			return got, passed
		}
		if got.status != http.StatusOK || got.header.Get("Retry-After") != "" {
			s.t.Fatalf("%d %s", got.status, got.body)
		}
		// On a slow machine the bucket refills meanwhile.
		left = remaining + 2
	}
}

// wantRefused checks the answer to a request beyond a limit. after is the largest Retry-After, in seconds.
func wantRefused(t *testing.T, got answer, message string, after int) {
	t.Helper()
	wantProblem(t, got, http.StatusTooManyRequests, message, nil)
	if seconds, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || seconds < 1 || seconds > after {
		t.Errorf("Retry-After is %q, want at most %d", got.header.Get("Retry-After"), after)
	}
}

// buckets lists the buckets of the rate limits in Redis.
func (s *service) buckets() []string {
	s.t.Helper()
	names, err := s.Process.Redis.Keys(s.t.Context(), "rate:*").Result()
	s.must(err)
	return names
}

func TestKeysAreLimited(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true, withoutWorker: true, settings: []string{"ATTESTRY_RATE_LIMIT_KEY=4"}})
	refusal, passed := s.exhaust(s.org, memberKey, "4")
	wantRefused(t, refusal, rateExceeded, 15)
	if passed < 1 {
		t.Error("no request was let through")
	}
	refusal, _ = s.exhaust(s.public, memberKey, "4")
	wantRefused(t, refusal, rateExceeded, 15)
	if got := s.limited(s.org, readerKey); got.status != http.StatusOK {
		t.Errorf("another key: %d %s", got.status, got.body)
	}
	if names := s.buckets(); len(names) == 0 || strings.Contains(fmt.Sprint(names), "key-of-the") {
		t.Errorf("the buckets are %q", names)
	}
	if got := s.do(http.MethodGet, "/ready", memberKey, nil); got.status != http.StatusOK || got.header.Get("RateLimit-Limit") != "" {
		t.Errorf("/ready: %d %v", got.status, got.header)
	}
}

func TestOrganizationsAreLimited(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true, settings: []string{"ATTESTRY_RATE_LIMIT_ORG=3"}})
	for range 10 {
		if got := s.do(http.MethodGet, "/api/v2/flows/"+s.org, strangerKey, nil); got.status != http.StatusForbidden || got.header.Get("RateLimit-Limit") != "" {
			t.Fatalf("a stranger: %d %v", got.status, got.header)
		}
	}
	refusal, passed := s.exhaust(s.org, memberKey, "3")
	wantRefused(t, refusal, rateExceeded, 20)
	if passed < 1 {
		t.Error("no request was let through")
	}
	refusal, _ = s.exhaust(s.org, adminKey, "3")
	wantRefused(t, refusal, rateExceeded, 20)
	if got := s.limited(s.public, adminKey); got.status != http.StatusOK {
		t.Errorf("another organization: %d %s", got.status, got.body)
	}
	if got := s.do(http.MethodGet, "/api/v2/attestations/system-attestation-types", memberKey, nil); got.status != http.StatusOK || got.header.Get("RateLimit-Limit") != "" {
		t.Errorf("without an organization: %d %v", got.status, got.header)
	}
}

// logged counts the log lines with a message.
func (s *service) logged(message string) int {
	return strings.Count(s.log.String(), `"msg":"`+message+`"`)
}

func TestNoRequestIsLimitedWithoutRedis(t *testing.T) {
	t.Parallel()
	const away, back = "Redis is away, rates are not limited", "Redis is back, rates are limited"
	s := start(t, options{withoutWorker: true, settings: []string{"ATTESTRY_RATE_LIMIT_KEY=60", "ATTESTRY_RATE_LIMIT_ORG=60"}})
	s.limited(s.org, memberKey)
	outages, ends, passed := s.logged(away), s.logged(back), s.metric("attestry_unlimited_requests_total")
	s.stopRedis()
	for range 70 {
		if got := s.do(http.MethodGet, "/api/v2/flows/"+s.org, memberKey, nil); got.status != http.StatusOK || got.header.Get("RateLimit-Limit") != "" {
			t.Fatalf("%d %v", got.status, got.header)
		}
	}
	s.clock.advance(time.Second)
	s.want(http.StatusOK, http.MethodGet, "/flows/"+s.org, nil)
	if got := s.logged(away) - outages; got != 1 {
		t.Errorf("the outage was logged %d times", got)
	}
	if got := s.metric("attestry_unlimited_requests_total") - passed; got != 71 {
		t.Errorf("%v requests are counted", got)
	}
	s.must(s.Redis.Restart())
	s.limited(s.org, memberKey)
	if s.logged(back) == ends {
		t.Error("the end of the outage was not logged")
	}
}

func TestRedisHasNoBucketsWithoutRateLimits(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	got := s.want(http.StatusOK, http.MethodGet, "/flows/"+s.org, nil)
	if got.header.Get("RateLimit-Limit") != "" || len(s.buckets()) != 0 {
		t.Errorf("headers %v, buckets %q", got.header, s.buckets())
	}
}

// askFrom lists the flows of the test's organization with the addresses in X-Forwarded-For, as a proxy does.
func (s *service) askFrom(key string, addresses ...string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL+"/api/v2/flows/"+s.org, nil)
	s.must(err)
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header["X-Forwarded-For"] = addresses
	return s.send(request)
}

func TestWrongKeysBeyondTheLimitOfTheirAddressAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, options{
		withoutWorker: true, stoppedAt: noonOf30March, settings: []string{"ATTESTRY_FAILED_KEY_LIMIT=6", "ATTESTRY_TRUSTED_PROXIES=10.0.0.0/8, 127.0.0.1"},
	})
	const client, neighbor = "198.51.100.7", "198.51.100.8"
	s.want(http.StatusOK, http.MethodGet, "/flows/"+s.org, nil)
	for i := range 6 {
		key := fmt.Sprint("key-that-nobody-has-", i)
		if i == 0 {
			key = expiredKey
		}
		if got := s.askFrom(key, "8.8.8.8", client+", 10.1.2.3"); got.status != http.StatusUnauthorized {
			t.Fatalf("wrong key %d: %d %s", i, got.status, got.body)
		}
	}
	for name, row := range map[string]struct {
		key, address string
		status       int
	}{
		"unknown key":           {"key-that-nobody-has", client, http.StatusTooManyRequests},
		"mistyped key":          {"att_" + strings.Repeat("1", 49), client, http.StatusTooManyRequests},
		"good key that is new":  {memberKey, client, http.StatusOK},
		"good key that is not":  {adminKey, client, http.StatusOK},
		"another address":       {"key-that-nobody-has", neighbor, http.StatusUnauthorized},
		"good key of another":   {readerKey, neighbor, http.StatusOK},
		"request without a key": {"", client, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := s.askFrom(row.key, row.address)
			if got.status != row.status {
				t.Errorf("%d %s, want %d", got.status, got.body, row.status)
			}
			if row.status != http.StatusTooManyRequests {
				return
			}
			wantRefused(t, got, tooManyAttempts, 10)
		})
	}
	s.clock.advance(10 * time.Second)
	if got := s.askFrom("key-that-nobody-has", client); got.status != http.StatusUnauthorized {
		t.Errorf("ten seconds later: %d %s", got.status, got.body)
	}
	if s.logged("refused an address that forwards requests and is no trusted proxy") != 0 {
		t.Error("a trusted proxy was logged")
	}
}

func TestForwardedAddressOfAnUntrustedProxyIsIgnored(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true, stoppedAt: noonOf30March, settings: []string{"ATTESTRY_FAILED_KEY_LIMIT=3"}})
	s.want(http.StatusOK, http.MethodGet, "/flows/"+s.org, nil)
	var statuses []int
	for i := range 6 {
		statuses = append(statuses, s.askFrom("key-that-nobody-has", fmt.Sprint("198.51.100.", i)).status)
	}
	if want := []int{401, 401, 401, 429, 429, 429}; !slices.Equal(statuses, want) {
		t.Errorf("answered %d, want %d", statuses, want)
	}
	s.want(http.StatusOK, http.MethodGet, "/flows/"+s.org, nil)
	const warning = "refused an address that forwards requests and is no trusted proxy"
	if s.logged(warning) != 1 || !strings.Contains(s.log.String(), `"msg":"`+warning+`","address":"127.0.0.1"`) {
		t.Errorf("the proxy was logged %d times", s.logged(warning))
	}
}
