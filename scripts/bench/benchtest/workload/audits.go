package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"attestry/evidence"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// deployedImages is how many images are deployed repeatedly in the environment of an audit.
const deployedImages = 100

// quarter is the length of the period of an audit.
const quarter = 91 * 24 * time.Hour

// seedPopulation adds deployments of the running images to the environment of seedHistory, until it has size.
func seedPopulation(ctx context.Context, f *fixture, size int) error {
	return f.populate(ctx, size, func(*snapshot.Deployment, int) {})
}

// seedChanges is seedPopulation with artifacts that have their own trails and approved pull requests. times is how
// often each artifact is deployed, far apart.
func seedChanges(times int) func(context.Context, *fixture, int) error {
	return func(ctx context.Context, f *fixture, size int) error { return f.seedChanges(ctx, size, times) }
}

func (f *fixture) seedChanges(ctx context.Context, size, times int) error {
	built := make([]evidence.ArtifactRecord, (size+times-1)/times)
	err := concurrently(len(built), func(i int) error {
		scope := f.scopeOf("change-" + strconv.Itoa(i))
		built[i] = artifactRecord(scope, team(i), component(i), digest(f.scope, "change", i))
		if err := f.store.Recorder.Report(ctx, scope, built[i], nil); err != nil {
			return err
		}
		stored, err := f.store.Artifacts.Get(ctx, built[i].ID)
		if err != nil {
			return err
		}
		built[i] = stored // with the id of its flow
		found := fmt.Sprintf(`[{"url":"https://github.com/org/repo/pull/%d","state":"MERGED","author":"ada","title":"Change the colour of a button",`+
			`"created_at":1,"merged_at":9,"head_ref":"colour","merge_commit":%q,"approvers":[{"username":"grace","state":"APPROVED","timestamp":8}],`+
			`"commits":[{"sha1":%q,"message":"Change the colour of a button","author":"A. Person <person@example.com>","author_username":"ada","timestamp":7}]}]`,
			i, built[i].CommitSHA, built[i].CommitSHA)
		return f.store.Recorder.Attest(ctx, scope, evidence.Attestation{
			ID: evidence.NewID(), Org: f.org, Trail: scope.Trail, Name: "pull-request", Type: evidence.TypePullRequest, Compliant: true,
			CreatedAt: scope.At, Payload: map[string]json.RawMessage{"pull_requests": json.RawMessage(found)},
		}, nil)
	})
	// After four passes of the reconciler, which makes one every half a minute, the high-water mark covers all facts.
	for range 4 {
		if err == nil {
			_, err = f.store.Recorder.Reconcile(ctx, f.org, evidence.Seconds(time.Now()))
		}
	}
	if err != nil {
		return err
	}
	return f.populate(ctx, size, func(d *snapshot.Deployment, n int) {
		record := &built[n%len(built)]
		d.Fingerprint, d.Name, d.Origin = record.Fingerprint, record.Filename, &snapshot.Origin{Origin: record.Origin(), Status: evidence.Compliant}
	})
}

// populate adds deployments, changed by set, to the environment of seedHistory, and a period named like the environment
// with all of them. It writes them to the stores directly, as it would take an hour with the worker.
func (f *fixture) populate(ctx context.Context, size int, set func(d *snapshot.Deployment, n int)) error {
	name := f.scope + "-history"
	environment, err := f.store.Environments.Resolve(ctx, f.org, name)
	if err != nil {
		return err
	}
	known, err := f.store.Deployments.List(ctx, environments.DeploymentQuery{Org: f.org, Environments: []string{environment.ID}, To: 1e12, Limit: deployedImages})
	if err != nil {
		return err
	}
	begin := evidence.Seconds(time.Now().Add(-quarter))
	for n := len(known); n < size; {
		batch := &storage.Batch{}
		var made []snapshot.Deployment
		var events []snapshot.Event
		for range min(storage.MaxMany/4, size-n) {
			next := known[n%len(known)]
			next.Snapshot, next.Timestamp = int64(n), begin+float64(n)*quarter.Seconds()/float64(size)
			set(&next, n)
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
		Org: f.org, Name: name, Environments: []string{environment.ID}, From: begin - 1, To: begin + quarter.Seconds() + 86400, CreatedAt: begin, CreatedBy: organization,
	})
}

// The seeds make the population of an audit: of changes without approval, of approved ones, and of those deployed once.
var (
	auditSeeds  = []seed{ofSize(deployedImages, seedImages), ofSize(deployedImages, seedHistory(1)), seedPopulation}
	changeSeeds = []seed{ofSize(deployedImages, seedImages), ofSize(deployedImages, seedHistory(1)), seedChanges(5)}
	onceSeeds   = []seed{ofSize(deployedImages, seedImages), ofSize(deployedImages, seedHistory(1)), seedChanges(1)}
)
