package notify_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"attestry/evidence/evidencetest"
	"attestry/evidence/notification"
	"attestry/notify"
	"attestry/outbound"
	"attestry/outbound/outboundtest"
)

func TestStatusesDecideWhetherAnAttemptHasSucceeded(t *testing.T) {
	for status, want := range map[int]string{
		200: "", 201: "", 202: "", 204: "", 299: "",
		300: "The answer has status 300.",
		301: "The answer is a redirect (301), which is not followed.",
		302: "The answer is a redirect (302), which is not followed.",
		304: "The answer has status 304.",
		308: "The answer is a redirect (308), which is not followed.",
		400: "The answer has status 400.",
		404: "The answer has status 404.",
		410: "The answer has status 410.",
		429: "The answer has status 429.",
		500: "The answer has status 500.",
	} {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if got := call(t, newSender(notify.Sender{}), r.URL); got.Reason != want || got.Status != status {
			t.Errorf("%d: got %+v", status, got)
		}
	}
}

func TestAttemptsReadRetryAfter(t *testing.T) {
	for header, want := range map[string]float64{
		"": 0, "0": 0, "120": 120, " 7 ": 7, "86400": 86400, "86401": 86400, "99999999999999999999": 86400, "-5": 0, "1.5": 0, "soon": 0,
		noon.Add(time.Minute).Format(http.TimeFormat): 60, noon.Add(-time.Minute).Format(http.TimeFormat): 0, noon.Add(48 * time.Hour).Format(http.TimeFormat): 86400,
	} {
		for _, status := range []int{200, 429, 503} {
			r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", header)
				w.WriteHeader(status)
			})
			wanted := want
			if status == 200 {
				wanted = 0
			}
			got := call(t, newSender(notify.Sender{Clock: func() time.Time { return noon.UTC() }}), r.URL)
			if got.RetryAfter != wanted {
				t.Errorf("%d %q: %v s, want %v", status, header, got.RetryAfter, wanted)
			}
		}
	}
}

func TestAttemptsKeepTheBeginningOfTheAnswer(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"empty":           {"", ""},
		"short":           {"no_service", "no_service"},
		"the longest":     {strings.Repeat("x", 1024), strings.Repeat("x", 1024)},
		"too long":        {strings.Repeat("x", 1025), strings.Repeat("x", 1024)},
		"within a letter": {strings.Repeat("x", 1023) + "ü", strings.Repeat("x", 1023)},
		"no UTF-8":        {"a\xff\xfeb", "ab"},
		"NUL":             {"a\x00b", "ab"},
		"endless":         {strings.Repeat("x", 10*outbound.MaxAnswer), strings.Repeat("x", 1024)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusTeapot)
				io.WriteString(w, c.answer)
			})
			got := call(t, newSender(notify.Sender{}), r.URL)
			if got.Answer != c.want || got.Status != http.StatusTeapot || !utf8.ValidString(got.Answer) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAttemptsHaveTheirTimes(t *testing.T) {
	times := []time.Time{noon, noon.Add(1500 * time.Millisecond)}
	clock := func() time.Time {
		now := times[0]
		times = times[1:]
		return now
	}
	r := newReceiver(t, ok)
	got := call(t, newSender(notify.Sender{Clock: clock}), r.URL)
	if got.At != 1795435200 || got.Duration != 1.5 {
		t.Errorf("got %+v", got)
	}
}

func TestStatusCountsThoughTheBodyIsIncomplete(t *testing.T) {
	for status, want := range map[int]string{200: "", 503: "The answer has status 503."} {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(status)
			io.WriteString(w, "begun")
		})
		r.Config.ErrorLog = log.New(io.Discard, "", 0)
		if got := call(t, newSender(notify.Sender{}), r.URL); got.Reason != want || got.Status != status || got.Answer != "begun" {
			t.Errorf("got %+v", got)
		}
	}
}

// silent is a TLS server without a log.
func silent(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(ok))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func TestAttemptsSayWhyThereIsNoAnswer(t *testing.T) {
	plainServer, tlsServer := newReceiver(t, ok), silent(t)
	broken := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	})
	garbled := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			io.WriteString(conn, "220 mail.internal ESMTP\r\n")
			conn.Close()
		}
	})
	for name, c := range map[string]struct{ address, want string }{
		"unknown host":        {"http://unknown.example/", blocked},
		"nothing listens":     {"http://127.0.0.1:1/", "The connection was refused."},
		"certificate":         {tlsServer.URL, "The certificate of the server is not trusted."},
		"no TLS":              {strings.Replace(plainServer.URL, "http:", "https:", 1), "No encrypted connection could be made."},
		"no answer":           {broken.URL, "There was no valid answer."},
		"no HTTP":             {garbled.URL, "There was no valid answer."},
		"no address":          {"", "The address of the target is not a valid HTTP address."},
		"no URL":              {"http://[::1", "The address of the target is not a valid HTTP address."},
		"no host":             {"http:///path", "The address of the target is not a valid HTTP address."},
		"only a port":         {"http://:80/", "The address of the target is not a valid HTTP address."},
		"another scheme":      {"file:///etc/passwd", "The address of the target is not a valid HTTP address."},
		"gopher":              {"gopher://127.0.0.1:6379/_FLUSHALL", "The address of the target is not a valid HTTP address."},
		"a control character": {"http://127.0.0.1:80/\r\nX: y", "The address of the target is not a valid HTTP address."},
	} {
		t.Run(name, func(t *testing.T) {
			resolver := outboundtest.NewResolver(t, nil)
			var logged bytes.Buffer
			sender := newSender(notify.Sender{
				HTTP: outbound.NewClient(outbound.Options{Allowed: loopback(), Resolver: resolver}),
				Log:  slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			if c.address != "" && strings.Count(c.address, "/") == 2 {
				c.address += "/services/T0/sesame?token=sesame"
			}
			got := call(t, sender, c.address)
			if got.Reason != c.want || got.Status != 0 || got.Answer != "" {
				t.Errorf("got %+v", got)
			}
			level := `"level":"DEBUG"`
			if c.want == blocked {
				level = `"level":"INFO"`
			}
			if strings.Contains(logged.String(), "sesame") || !strings.Contains(logged.String(), level) {
				t.Errorf("logged %s", logged.String())
			}
		})
	}
}

func TestAttemptAtAHangingReceiverEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  error
		want string
	}{
		"when the process stops":     {context.Canceled, "The attempt was cancelled."},
		"when the time limit is hit": {context.DeadlineExceeded, "There was no complete answer within 10 s."},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := evidencetest.NewEnding(t.Context())
			address := listenAndHang(t, func() { ctx.End(c.end) })
			target := &notification.Target{Type: notification.Slack, Webhook: "http://" + address}
			got := newSender(notify.Sender{}).Send(ctx, target, delivery(startedNotice()), nil)
			if got.Reason != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// The client's time limit is made shorter, so that the test does not wait for it.
func TestIncompleteAnswerEndsAtTheTimeLimit(t *testing.T) {
	server := newReceiver(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	client := outbound.NewClient(outbound.Options{Allowed: loopback()})
	if client.Timeout != 10*time.Second {
		t.Errorf("the time limit is %v", client.Timeout)
	}
	client.Timeout = 50 * time.Millisecond
	if got := call(t, newSender(notify.Sender{HTTP: client}), server.URL); got.Reason != "There was no complete answer within 10 s." {
		t.Errorf("got %+v", got)
	}
}

func TestUnknownTypesOfTargetsFail(t *testing.T) {
	got := newSender(notify.Sender{}).Send(context.Background(), &notification.Target{Type: "PIGEON"}, delivery(startedNotice()), nil)
	if got.Reason != "The type of the target is not known." {
		t.Errorf("got %+v", got)
	}
}
