package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"attestry/links"
	"attestry/process"
	"attestry/process/buildinfo"
	"attestry/tasks"
	"attestry/tasks/auditpackage"
)

// packager is what assembles audit packages.
type packager struct {
	relay     *auditpackage.Relay
	assembler *auditpackage.Assembler
}

func newPackager(p *process.Process) (*packager, error) {
	address, err := links.New(string(p.Settings.HTTP.BaseURL))
	if err != nil {
		return nil, err
	}
	build := buildinfo.Read()
	return &packager{
		relay: auditpackage.NewRelay(p.Store, p.Tasks, time.Duration(p.Settings.Worker.PackageDays)*24*time.Hour, p.Clock, p.Log),
		assembler: auditpackage.NewAssembler(p.Store, auditpackage.Options{
			Links: address, Publisher: tasks.NewPublisher(p.Redis), Clock: p.Clock, Log: p.Log,
			Generator: "Attestry " + build.Version + ", commit " + build.Commit,
		}),
	}, nil
}

// handler assembles the package that the task names.
func (p *packager) handler() asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		var payload tasks.AssemblePayload
		if err := json.Unmarshal(task.Payload(), &payload); err != nil {
			return undecodable(task, err)
		}
		if err := p.assembler.Assemble(ctx, payload.Assembly); err != nil {
			return fmt.Errorf("%w: %w", err, asynq.RevokeTask) // what still waits is enqueued by the relay
		}
		return nil
	})
}
