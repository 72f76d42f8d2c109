// Command worker is the worker process of Attestry. It serves the queues named by
// --queues or ATTESTRY_QUEUES; all other settings come from the environment; see
// README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"attestry/config"
	"attestry/process"
	"attestry/worker/server"
)

func main() {
	queues := flag.String("queues", "", "queues to serve with their weights, as reports=6,compliance=3; stands above ATTESTRY_QUEUES")
	flag.Parse()
	os.Exit(process.Main("worker", func(ctx context.Context, p *process.Process) error {
		return work(ctx, p, *queues)
	}))
}

func work(ctx context.Context, p *process.Process, queues string) error {
	served := p.Settings.Worker.Queues
	if queues != "" {
		var err error
		if served, err = config.ParseQueues(queues); err != nil {
			return fmt.Errorf("--queues %w", err)
		}
	}
	worker, err := server.New(server.Deps{
		Store:           p.Store,
		Redis:           p.Redis,
		Clock:           p.Clock,
		Log:             p.Log,
		Metrics:         p.Metrics,
		Queues:          served,
		Concurrency:     p.Settings.Worker.Concurrency,
		ShutdownTimeout: p.Settings.Process.ShutdownTimeout,
	})
	if err != nil {
		return err
	}
	p.Log.Info("working", "queues", served)
	return worker.Run(ctx)
}
