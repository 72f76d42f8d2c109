// Command admin is for operators. It works on the stores that the ATTESTRY_ environment
// variables of the api and the worker name, beside them or while they are stopped. A running
// standalone executes the commands itself. copy works on the two stores that its arguments name.
//
//	go run ./scripts/admin --help
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"attestry/scripts/admin/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := command.Run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
