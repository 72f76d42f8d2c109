// Command admin is for operators. It works on the stores of the api and the worker, whose ATTESTRY_ environment
// variables it reads, while these processes run or are stopped. A running standalone executes the commands itself. copy
// works on the two stores of its arguments.
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
