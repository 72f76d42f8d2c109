package workload

import (
	"context"
	"time"

	"attestry/evidence"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// deployedImages is how many images are deployed again and again in the environment of an audit.
const deployedImages = 100

// seedPopulation adds as many deployments as the size says to the environment of seedHistory, of the images that run there, and
// fixes a period of the environment's name that has all of them. They do not pass the worker, which would take an hour.
func seedPopulation(ctx context.Context, f *fixture, size int) error {
	name := f.scope + "-history"
	environment, err := f.store.Environments.Resolve(ctx, f.org, name)
	if err != nil {
		return err
	}
	known, err := f.store.Deployments.List(ctx, environments.DeploymentQuery{Org: f.org, Environments: []string{environment.ID}, To: 1e12, Limit: deployedImages})
	if err != nil {
		return err
	}
	begin := evidence.Seconds(time.Now().Add(-24 * time.Hour))
	for n := len(known); n < size; {
		batch := &storage.Batch{}
		var made []snapshot.Deployment
		var events []snapshot.Event
		for range min(storage.MaxMany/4, size-n) {
			next := known[n%len(known)]
			next.Snapshot, next.Timestamp = int64(n), begin+float64(n)
			made = append(made, next)
			events = append(events, snapshot.Event{
				Org: f.org, Environment: environment.ID, Ordinal: int64(n + 1), Snapshot: next.Snapshot, Timestamp: next.Timestamp,
				Fingerprint: next.Fingerprint, Name: next.Name, Type: snapshot.StartedUnknown, Description: "1 instance started running",
			})
			n++
		}
		f.store.Deployments.RecordIn(batch, made, nil)
		f.store.Events.RecordIn(batch, events)
		if err := batch.Write(ctx, f.store.Documents); err != nil {
			return err
		}
	}
	return f.store.Periods.Insert(ctx, period.Period{
		Org: f.org, Name: name, Environments: []string{environment.ID}, From: begin - 1, To: begin + 2*86400, CreatedAt: begin, CreatedBy: organization,
	})
}

// auditSeeds make the population of an audit.
var auditSeeds = []seed{ofSize(deployedImages, seedImages), ofSize(deployedImages, seedHistory(1)), seedPopulation}
