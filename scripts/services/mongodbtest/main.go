// Command mongodbtest is a MongoDB-compatible server for tests: FerretDB on SQLite, in a module of its own so that its
// dependencies stay out of ours. FerretDB's own command lacks generated files when built from the module proxy, so this
// one starts the embeddable package, which sends no telemetry. scripts/services/services.sh builds it, and changes how
// FerretDB looks up ids.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:27017", "address to listen on")
	data := flag.String("data", "", "directory of the databases, made when absent")
	flag.Parse()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if err := run(*listen, *data, logger); err != nil {
		logger.Error("FerretDB failed", "error", err)
		os.Exit(1)
	}
}

// run serves until the process is interrupted or terminated.
func run(listen, data string, logger *slog.Logger) error {
	directory, err := filepath.Abs(data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	// The path of a socket must be short, the one of the data need not be.
	sockets, err := os.MkdirTemp("", "ferretdb-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(sockets)
	socket := filepath.Join(sockets, "socket")
	server, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{Unix: socket},
		Logger:   logger,
		Handler:  "sqlite",
		// No test ends the operating system, which keeps what a killed process has written.
		SQLiteURL: (&url.URL{Scheme: "file", Path: directory + "/", RawQuery: "_pragma=synchronous(off)"}).String(),
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	proxy := &front{socket: socket, logger: logger}
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- proxy.serve(ctx, listener)
	}()
	return errors.Join(server.Run(ctx), <-served)
}
