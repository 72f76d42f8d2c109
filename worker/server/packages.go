package server

import (
	"context"
	"time"

	"attestry/evidence/job"
	"attestry/evidence/translog"
	"attestry/links"
	"attestry/process"
	"attestry/process/buildinfo"
	"attestry/tasks/auditpackage"
	"attestry/tasks/relay"
)

type packager struct {
	relay *relay.Relay
	// covered is a second relay, for packages that wait for a checkpoint. New checkpoints of this process wake it.
	covered   *relay.Relay
	assembler *auditpackage.Assembler
	cleaner   *auditpackage.Cleaner
}

// packageInterval bounds the time until the task of a package is enqueued.
const packageInterval = 250 * time.Millisecond

// everyWorker lets all workers enqueue: an election would delay clients that wait for packages and their checkpoints.
func everyWorker(context.Context) (bool, error) { return true, nil }

func newPackager(p *process.Process, address links.Links, keys translog.Keys) *packager {
	build := buildinfo.Read()
	return &packager{
		relay:   relay.New(job.QueuePackages, p.Tasks, p.Clock, everyWorker, p.Store.Assemblies.Due),
		covered: relay.New(job.QueuePackages, p.Tasks, p.Clock, everyWorker, p.Store.Assemblies.Due),
		cleaner: auditpackage.NewCleaner(p.Store, time.Duration(p.Settings.Worker.PackageDays)*24*time.Hour, p.Clock, p.Log),
		assembler: auditpackage.NewAssembler(p.Store, auditpackage.Options{
			Links: address, Publisher: p.Tasks, Clock: p.Clock,
			Generator: "Attestry " + build.Version + ", commit " + build.Commit, LogKeys: keys,
		}),
	}
}

// enqueueCovered enqueues packages that waited for a checkpoint, once their next attempts are due.
func (p *packager) enqueueCovered(ctx context.Context) error {
	pause(ctx, auditpackage.CoverPause)
	return p.covered.Relay(ctx)
}
