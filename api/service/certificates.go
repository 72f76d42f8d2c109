package service

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"attestry/config"
)

// certificateInterval is how often the files of TLS are looked at, when connections come.
const certificateInterval = time.Second

// certificates has the certificate that connections are encrypted with, and the authorities of clients' certificates.
// They are read again when their files have changed.
type certificates struct {
	settings config.HTTP
	log      *slog.Logger

	mu       sync.Mutex
	lookedAt time.Time
	// state tells the files that were last looked at from later ones.
	state   string
	current *tls.Config
}

// listenTLS has a listener take HTTPS if the settings have a certificate.
func listenTLS(listener net.Listener, settings config.HTTP, log *slog.Logger) (net.Listener, error) {
	if !settings.HTTPS() {
		return listener, nil
	}
	c := &certificates{settings: settings, log: log}
	if err := c.read(); err != nil {
		return nil, err
	}
	return tls.NewListener(listener, &tls.Config{GetConfigForClient: c.get}), nil
}

func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.lookedAt) < certificateInterval {
		return c.current, nil
	}
	if c.filesState() != c.state {
		// While files are replaced they may not fit together: the certificate that was read last stays in use.
		if err := c.read(); err != nil {
			c.log.Warn("the certificate has changed and cannot be read", "error", err.Error())
		} else {
			c.log.Info("read the certificate again")
		}
	}
	c.lookedAt = time.Now()
	return c.current, nil
}

func (c *certificates) read() error {
	// It is taken before the files are read, and whether they can be: so each change is read, and warned of, once.
	c.state = c.filesState()
	read, err := c.settings.TLS()
	if err == nil {
		c.current = read
	}
	return err
}

// filesState changes when a file does.
func (c *certificates) filesState() (state string) {
	for _, file := range c.settings.TLSFiles() {
		if info, err := os.Stat(file); err == nil {
			state += fmt.Sprintf("%d %d\n", info.ModTime().UnixNano(), info.Size())
		}
	}
	return state
}
