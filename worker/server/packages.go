package server

import (
	"context"
	"time"

	"attestry/evidence/job"
	"attestry/evidence/translog"
	"attestry/links"
	"attestry/process"
	"attestry/process/buildinfo"
	"attestry/tasks"
	"attestry/tasks/auditpackage"
	"attestry/tasks/relay"
)

// packager is what assembles audit packages.
type packager struct {
	relay *relay.Relay
	// covered enqueues the packages that waited for a checkpoint, in a process that is woken by it.
	covered   *relay.Relay
	assembler *auditpackage.Assembler
	cleaner   *auditpackage.Cleaner
}

// packageInterval is how long a package waits at most until a worker is told of it.
const packageInterval = 250 * time.Millisecond

// everyWorker lets all workers enqueue packages: somebody waits for them, and must not wait until another one is
// elected.
func everyWorker(context.Context) (bool, error) { return true, nil }

func newPackager(p *process.Process, address links.Links, keys translog.Keys) *packager {
	build := buildinfo.Read()
	return &packager{
		relay:   relay.New(job.QueuePackages, p.Tasks, p.Clock, everyWorker, p.Store.Assemblies.Due),
		covered: relay.New(job.QueuePackages, p.Tasks, p.Clock, everyWorker, p.Store.Assemblies.Due),
		cleaner: auditpackage.NewCleaner(p.Store, time.Duration(p.Settings.Worker.PackageDays)*24*time.Hour, p.Clock, p.Log),
		assembler: auditpackage.NewAssembler(p.Store, auditpackage.Options{
			Links: address, Publisher: tasks.NewPublisher(p.Redis), Clock: p.Clock,
			Generator: "Attestry " + build.Version + ", commit " + build.Commit, LogKeys: keys,
		}),
	}
}

// enqueueCovered has the packages assembled that waited for a checkpoint, once the attempts that came before it are due again.
func (p *packager) enqueueCovered(ctx context.Context) error {
	pause(ctx, auditpackage.CoverPause)
	return p.covered.Relay(ctx)
}
