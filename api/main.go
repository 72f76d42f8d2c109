// Command api is the HTTP process of Attestry. All settings come from the environment: --help lists them.
package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"attestry/api/service"
	"attestry/process"
)

func main() {
	program := process.NewProgram("attestry-api", "Attestry's HTTP process: answers the API.")
	os.Exit(process.Main("api", program, work))
}

func work(ctx context.Context, p *process.Process) error {
	service, err := service.New(p)
	if err != nil {
		return err
	}
	settings := p.Settings.HTTP
	listener, err := net.Listen("tcp", string(settings.Listen))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	p.Log.Info("serving", "address", listener.Addr().String(), "base_url", string(settings.BaseURL))
	return service.Serve(ctx, listener)
}
