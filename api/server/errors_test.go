package server

import (
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/links"
)

func TestErrorsBecomeStatusAndMessage(t *testing.T) {
	s := start(t, testRoutes())
	for name, want := range map[string]struct {
		status  int
		message string
		retry   string
	}{
		"panic":       {500, internalMessage, ""},
		"internal":    {500, internalMessage, ""},
		"deadline":    {503, overloadedMessage, "1"},
		"conflict":    {409, "taken", ""},
		"slower":      {503, "slower", "2"},
		"unavailable": {503, "later", "1"},
	} {
		got := s.send(t, "POST", links.Prefix+"/things/acme/"+name+"/fail", "reader", "")
		got.expect(t, want.status, want.message)
		if retry := got.header.Get("Retry-After"); retry != want.retry {
			t.Errorf("%s: Retry-After = %q, want %q", name, retry, want.retry)
		}
		if strings.Contains(got.body, "errors") {
			t.Errorf("%s: the answer has findings: %s", name, got.body)
		}
	}
}

func TestInternalErrorsAreLoggedWithTheRequestID(t *testing.T) {
	s := start(t, testRoutes())
	got := s.send(t, "POST", links.Prefix+"/things/acme/internal/fail", "reader", "", "X-Request-ID", "my-id-1")
	if got.header.Get("X-Request-ID") != "my-id-1" {
		t.Errorf("X-Request-ID = %q", got.header.Get("X-Request-ID"))
	}
	for _, want := range []string{`"request_id":"my-id-1"`, "secret detail"} {
		if !strings.Contains(s.journal.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, s.journal)
		}
	}
}

func TestEveryCodeHasAStatus(t *testing.T) {
	for code, want := range map[evidence.Code]int{
		evidence.Invalid: 400, evidence.Unauthorized: 401, evidence.Forbidden: 403, evidence.NotFound: 404, evidence.Conflict: 409,
		evidence.TooLarge: 413, evidence.RateLimited: 429, evidence.Internal: 500, evidence.Unavailable: 503, "new": 500,
	} {
		if got := statusOf(code); got != want {
			t.Errorf("%s → %d, want %d", code, got, want)
		}
	}
}

func TestRetryAfterIsWholeSecondsAndAtLeastOne(t *testing.T) {
	for after, want := range map[time.Duration]string{0: "1", -time.Second: "1", time.Millisecond: "1", 1001 * time.Millisecond: "2", time.Minute: "60"} {
		if got := retryable(newProblem(503, ""), after).headers.Get("Retry-After"); got != want {
			t.Errorf("%v → %q, want %q", after, got, want)
		}
	}
}
