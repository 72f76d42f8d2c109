package instance

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"attestry/config"
	"attestry/evidence"
	"attestry/process"
	"attestry/storage"
)

const (
	// roomPause is how long a start waits before it tries its disk again.
	roomPause = time.Second
	// roomRetryAfter is when clients should try again, in seconds.
	roomRetryAfter = "10"
	// waitingTimeout bounds a request during that time.
	waitingTimeout = 10 * time.Second
)

// openWhenWritable opens until the stores are not refused for a full disk, or ctx ends. Meanwhile it answers on the
// listener and on the monitoring port.
func openWhenWritable(ctx context.Context, listener net.Listener, settings config.Settings, log *slog.Logger, open func() error) error {
	err := open()
	if !errors.Is(err, storage.ErrWriteRefused) {
		return err
	}
	log.Warn("the start waits until the store can be written to", "error", err.Error())
	ends := []func() error{serveWaiting(keptListener{listener.(*net.TCPListener)}, err)}
	if address := string(settings.Process.MonitorListen); address != "" {
		monitoring, listenErr := net.Listen("tcp", address)
		if listenErr != nil {
			return errors.Join(listenErr, ends[0]())
		}
		ends = append(ends, serveWaiting(monitoring, err))
	}
	ticks := time.Tick(roomPause)
	for errors.Is(err, storage.ErrWriteRefused) {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-ticks:
			err = open()
		}
	}
	for _, end := range ends {
		err = errors.Join(err, end())
	}
	return err
}

func serveWaiting(listener net.Listener, reason error) (end func() error) {
	server := &http.Server{Handler: waitingHandler(reason), ReadHeaderTimeout: waitingTimeout, WriteTimeout: waitingTimeout}
	return process.Serve(server, listener)
}

// waitingHandler answers /healthz with 200 and all else with 503.
func waitingHandler(reason error) http.Handler {
	message := evidence.MessageOf(reason, "The service is starting.")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body := http.StatusServiceUnavailable, map[string]any{"message": message}
		if r.URL.Path == "/healthz" {
			status, body = http.StatusOK, map[string]any{"alive": true}
		} else {
			w.Header().Set("Retry-After", roomRetryAfter)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) // an error means that nobody listens any more
	})
}

// keptListener stays open when its server is closed.
type keptListener struct{ *net.TCPListener }

// Accept waits for a connection until Close is called.
func (l keptListener) Accept() (net.Conn, error) {
	conn, err := l.TCPListener.Accept()
	if err != nil {
		// The next user of the listener waits as long as it takes.
		err = errors.Join(err, l.SetDeadline(time.Time{}))
	}
	return conn, err
}

// Close ends an Accept that is under way.
func (l keptListener) Close() error { return l.SetDeadline(time.Now()) }
