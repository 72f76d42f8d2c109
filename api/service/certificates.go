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

// certificateInterval is the minimum time between two checks of the TLS files, which new connections trigger.
const certificateInterval = time.Second

// certificates reloads the server certificate and the authorities of client certificates when their files change.
type certificates struct {
	settings config.HTTP
	log      *slog.Logger

	mu        sync.Mutex
	checkedAt time.Time
	// state is that of the files at the last check.
	state   string
	current *tls.Config
}

// listenTLS returns a listener for HTTPS if the settings have a certificate, and else listener.
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
	if time.Since(c.checkedAt) < certificateInterval {
		return c.current, nil
	}
	if c.filesState() != c.state {
		// While the files are being replaced, key and certificate may not match. The current certificate stays in use.
		if err := c.read(); err != nil {
			c.log.Warn("the certificate has changed and cannot be read", "error", err.Error())
		} else {
			c.log.Info("the changed certificate is in use")
		}
	}
	c.checkedAt = time.Now()
	return c.current, nil
}

func (c *certificates) read() error {
	// Set the state before reading the files, also if that fails. Then each change is read, and a failure logged, once.
	c.state = c.filesState()
	read, err := c.settings.TLS()
	if err == nil {
		c.current = read
	}
	return err
}

// filesState has the modification times and sizes of the files.
func (c *certificates) filesState() (state string) {
	for _, file := range c.settings.TLSFiles() {
		if info, err := os.Stat(file); err == nil {
			state += fmt.Sprintf("%d %d\n", info.ModTime().UnixNano(), info.Size())
		}
	}
	return state
}
