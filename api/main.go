// Command api is the HTTP process of Attestry. All settings come from the
// environment: --help lists them.
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
	settings := p.Settings.HTTP
	service, err := service.NewService(service.ServiceDeps{
		BaseURL:         string(settings.BaseURL),
		Store:           p.Store,
		Redis:           p.Redis,
		Clock:           p.Clock,
		Log:             p.Log,
		Metrics:         p.Metrics,
		Checks:          p.Checks(),
		MemoryBudget:    int64(settings.MemoryBudget),
		RequestTimeout:  settings.RequestTimeout,
		ReportWait:      settings.ReportWait,
		ShutdownTimeout: p.Settings.Process.ShutdownTimeout,
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", string(settings.Listen))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	p.Log.Info("serving", "address", listener.Addr().String(), "base_url", string(settings.BaseURL))
	return service.Serve(ctx, listener)
}
