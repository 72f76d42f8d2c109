// Command ferretdb is a MongoDB-compatible server for tests: FerretDB on SQLite, in a module of its own so that its
// dependencies stay out of ours. FerretDB's own command lacks generated files when built from the module proxy, so this
// one starts the embeddable package, which sends no telemetry. It is built by scripts/services/services.sh, which changes
// how FerretDB looks for ids.
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
	// The length of a socket's path is limited, that of the data's is not.
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
		// What a killed process has written is kept by the system, which no test ends.
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
	before := &front{socket: socket, logger: logger}
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- before.serve(ctx, listener)
	}()
	return errors.Join(server.Run(ctx), <-served)
}
