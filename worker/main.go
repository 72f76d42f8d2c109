// Command worker is the worker process of Attestry. It serves the queues named by --queues or ATTESTRY_QUEUES; all
// other settings come from the environment: --help lists them.
package main

import (
	"context"
	"os"

	"attestry/process"
	"attestry/worker/server"
)

func main() {
	program := process.NewProgram("attestry-worker", "Attestry's worker process: runs the tasks of the queues.")
	program.Setting("queues", "ATTESTRY_QUEUES", "serve `QUEUES` with their weights, as reports=6,compliance=3")
	os.Exit(process.Main("worker", program, work))
}

func work(ctx context.Context, p *process.Process) error {
	worker, err := server.New(p)
	if err != nil {
		return err
	}
	p.Log.Info("working", "queues", p.Settings.Worker.Queues)
	return worker.Run(ctx)
}
