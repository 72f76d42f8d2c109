package instance_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
	"attestry/process"
	"attestry/scripts/standalone/instance"
)

func TestNothingIsServedBeforeTheInstanceIsPrepared(t *testing.T) {
	answered := make(chan error, 1)
	running, err := instance.Start(t.Context(), instance.Options{
		Listen: "127.0.0.1:0", Data: t.TempDir(), Clock: time.Now, Log: slog.New(slog.DiscardHandler), ReportWait: time.Second,
		Prepare: func(_ context.Context, p *process.Process) error {
			go func() {
				response, err := http.Get("http://" + string(p.Settings.HTTP.Listen) + "/ready")
				if err == nil {
					err = response.Body.Close()
				}
				answered <- err
			}()
			select {
			case <-answered:
				t.Error("a request was answered")
			case <-time.After(100 * time.Millisecond):
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	evidencetest.Check(t, <-answered)
	http.DefaultClient.CloseIdleConnections()
	evidencetest.Check(t, running.Close())
}
