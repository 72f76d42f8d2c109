package e2e_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
)

// exhaust lists the flows of an organization until the limit refuses it. It returns the refusal and the number of
// requests that passed.
func exhaust(s *apitest.Service, org, key, limit string) (refusal apitest.Answer, passed int) {
	s.T.Helper()
	for left := 1 << 20; ; passed++ {
		got := s.Limited(org, key)
		remaining, err := strconv.Atoi(got.Header.Get("RateLimit-Remaining"))
		s.Must(err)
		reset, err := strconv.Atoi(got.Header.Get("RateLimit-Reset"))
		s.Must(err)
		if got.Header.Get("RateLimit-Limit") != limit || remaining >= left || reset < 1 || reset > 60 {
			s.T.Fatalf("after %d left, the headers are %v", left, got.Header)
		}
		if got.Status == http.StatusTooManyRequests {
			return got, passed
		}
		if got.Status != http.StatusOK || got.Header.Get("Retry-After") != "" {
			s.T.Fatalf("%d %s", got.Status, got.Body)
		}
		// On a slow machine the bucket refills meanwhile.
		left = remaining + 2
	}
}

// wantRefused checks the answer to a request beyond a limit. after is the largest Retry-After, in seconds.
func wantRefused(t *testing.T, got apitest.Answer, message string, after int) {
	t.Helper()
	apitest.WantProblem(t, got, http.StatusTooManyRequests, message, nil)
	if seconds, err := strconv.Atoi(got.Header.Get("Retry-After")); err != nil || seconds < 1 || seconds > after {
		t.Errorf("Retry-After is %q, want at most %d", got.Header.Get("Retry-After"), after)
	}
}

// buckets lists the buckets of the rate limits in Redis.
func buckets(s *apitest.Service) []string {
	s.T.Helper()
	names, err := s.Process.Redis.Keys(s.T.Context(), "rate:*").Result()
	s.Must(err)
	return names
}

func TestKeysAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true, WithoutWorker: true, Settings: []string{"ATTESTRY_RATE_LIMIT_KEY=4"}})
	refusal, passed := exhaust(s, s.Org, apitest.MemberKey, "4")
	wantRefused(t, refusal, apitest.RateExceeded, 15)
	if passed < 1 {
		t.Error("no request was let through")
	}
	refusal, _ = exhaust(s, s.Public, apitest.MemberKey, "4")
	wantRefused(t, refusal, apitest.RateExceeded, 15)
	apitest.WantAnswer(t, s.Limited(s.Org, apitest.ReaderKey), http.StatusOK)
	if names := buckets(s); len(names) == 0 || strings.Contains(fmt.Sprint(names), "key-of-the") {
		t.Errorf("the buckets are %q", names)
	}
	if got := s.Do(http.MethodGet, "/ready", apitest.MemberKey, nil); got.Status != http.StatusOK || got.Header.Get("RateLimit-Limit") != "" {
		t.Errorf("/ready: %d %v", got.Status, got.Header)
	}
}

func TestOrganizationsAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, Settings: []string{"ATTESTRY_RATE_LIMIT_ORG=3"}})
	for range 10 {
		if got := s.Do(http.MethodGet, "/api/v2/flows/"+s.Org, apitest.StrangerKey, nil); got.Status != http.StatusForbidden || got.Header.Get("RateLimit-Limit") != "" {
			t.Fatalf("a stranger: %d %v", got.Status, got.Header)
		}
	}
	refusal, passed := exhaust(s, s.Org, apitest.MemberKey, "3")
	wantRefused(t, refusal, apitest.RateExceeded, 20)
	if passed < 1 {
		t.Error("no request was let through")
	}
	refusal, _ = exhaust(s, s.Org, apitest.AdminKey, "3")
	wantRefused(t, refusal, apitest.RateExceeded, 20)
	apitest.WantAnswer(t, s.Limited(s.Public, apitest.AdminKey), http.StatusOK)
	if got := s.Do(http.MethodGet, "/api/v2/attestations/system-attestation-types", apitest.MemberKey, nil); got.Status != http.StatusOK || got.Header.Get("RateLimit-Limit") != "" {
		t.Errorf("without an organization: %d %v", got.Status, got.Header)
	}
}

// logged counts the log lines with a message.
func logged(s *apitest.Service, message string) int {
	return strings.Count(s.Log.String(), `"msg":"`+message+`"`)
}

// askFrom lists the flows of the test's organization with the addresses in X-Forwarded-For, as a proxy does.
func askFrom(s *apitest.Service, key string, addresses ...string) apitest.Answer {
	s.T.Helper()
	request, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.URL+"/api/v2/flows/"+s.Org, nil)
	s.Must(err)
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header["X-Forwarded-For"] = addresses
	return s.Send(request)
}

func TestWrongKeysBeyondTheLimitOfTheirAddressAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{
		WithoutWorker: true, StoppedAt: apitest.NoonOf30March, Settings: []string{"ATTESTRY_FAILED_KEY_LIMIT=6", "ATTESTRY_TRUSTED_PROXIES=10.0.0.0/8, 127.0.0.1"},
	})
	const client, neighbor = "198.51.100.7", "198.51.100.8"
	s.Want(http.StatusOK, http.MethodGet, "/flows/"+s.Org, nil)
	for i := range 6 {
		key := fmt.Sprint("key-that-nobody-has-", i)
		if i == 0 {
			key = apitest.ExpiredKey
		}
		if got := askFrom(s, key, "8.8.8.8", client+", 10.1.2.3"); got.Status != http.StatusUnauthorized {
			t.Fatalf("wrong key %d: %d %s", i, got.Status, got.Body)
		}
	}
	type testCase struct {
		key, address string
		status       int
	}
	apitest.Each(s, map[string]testCase{
		"unknown key":           {"key-that-nobody-has", client, http.StatusTooManyRequests},
		"mistyped key":          {"att_" + strings.Repeat("1", 49), client, http.StatusTooManyRequests},
		"good key that is new":  {apitest.MemberKey, client, http.StatusOK},
		"good key that is not":  {apitest.AdminKey, client, http.StatusOK},
		"another address":       {"key-that-nobody-has", neighbor, http.StatusUnauthorized},
		"good key of another":   {apitest.ReaderKey, neighbor, http.StatusOK},
		"request without a key": {"", client, http.StatusUnauthorized},
	}, func(s *apitest.Service, _ string, row testCase) {
		got := askFrom(s, row.key, row.address)
		apitest.Equal(s.T, got.Status, row.status, got.Body)
		if row.status != http.StatusTooManyRequests {
			return
		}
		wantRefused(s.T, got, apitest.TooManyAttempts, 10)
	})
	s.Clock.Advance(10 * time.Second)
	apitest.WantAnswer(t, askFrom(s, "key-that-nobody-has", client), http.StatusUnauthorized)
	apitest.Equal(t, logged(s, "refused an address that forwards requests and is no trusted proxy"),
		0, "a trusted proxy was logged")
}
