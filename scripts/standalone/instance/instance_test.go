package instance_test

import (
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"attestry/evidence/evidencetest"
	"attestry/scripts/standalone/instance"
)

func TestEmbeddedRedisRequiresItsPassword(t *testing.T) {
	running, err := instance.Start(t.Context(), instance.Options{
		Listen: "127.0.0.1:0", Data: t.TempDir(), ReportWait: time.Second, Clock: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	evidencetest.Must(t, err)
	defer running.Close()
	at := slices.IndexFunc(running.Environment, func(entry string) bool { return strings.HasPrefix(entry, "ATTESTRY_REDIS_URL=") })
	address, err := url.Parse(strings.TrimPrefix(running.Environment[at], "ATTESTRY_REDIS_URL="))
	evidencetest.Must(t, err)
	password, _ := address.User.Password()
	for name, row := range map[string]struct {
		password string
		ok       bool
	}{
		"its own": {password, true},
		"none":    {"", false},
		"another": {"guess", false},
	} {
		t.Run(name, func(t *testing.T) {
			client := redis.NewClient(&redis.Options{Addr: address.Host, Password: row.password, MaxRetries: -1})
			defer client.Close()
			if err := client.Ping(t.Context()).Err(); (err == nil) != row.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
