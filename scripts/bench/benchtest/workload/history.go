package workload

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/tasks/reports"
)

// seedHistory creates an environment with many snapshots. Each replaces the image of one pod by its second version.
func seedHistory(snapshots int) seed {
	return func(ctx context.Context, f *fixture, size int) error {
		return f.createHistory(ctx, size, snapshots, func(pods []snapshot.Instance, n int) {
			i := (n - 1) % size
			pods[i].Digests = digests(f.scope, secondVersion, i)
		})
	}
}

// seedEvents creates an environment with many events. Each snapshot replaces all images by new ones, with two events
// per image.
func seedEvents(pods, snapshots int) seed {
	return func(ctx context.Context, f *fixture, _ int) error {
		return f.createHistory(ctx, pods, snapshots, func(pods []snapshot.Instance, n int) {
			for i := range pods {
				pods[i].Digests = digests(f.scope, "image-"+strconv.Itoa(1+n), i)
			}
		})
	}
}

// createHistory creates an environment with snapshots. replace changes the pods before each but the first. Reports are
// processed without the HTTP server and the queue, which would take minutes.
func (f *fixture) createHistory(ctx context.Context, pods, snapshots int, replace func(pods []snapshot.Instance, n int)) error {
	name, err := f.createEnvironment(newConnection(f.address, f.key), "history")
	if err != nil {
		return err
	}
	environment, err := f.store.Environments.Resolve(ctx, f.org, name)
	if err != nil {
		return err
	}
	intake := reports.NewIntake(f.store, noQueue{}, noQueue{}, time.Now, 0)
	processor := reports.NewProcessor(f.store, noQueue{}, time.Now, f.instance.Process.Log, func(string) {})
	var running []snapshot.Instance
	for i := range pods {
		running = append(running, instanceOf(f.scope, i))
	}
	for n := range snapshots {
		if n > 0 {
			replace(running, n)
		}
		submission := reports.Submission{
			Org: f.org, Environment: environment.ID, ReportedBy: organization,
			Report: snapshot.Canonical(evidence.K8S, running),
		}
		if _, err := intake.Accept(ctx, submission); err != nil {
			return err
		}
		if err := processor.Drain(ctx, environment.ID); err != nil {
			return err
		}
	}
	latest, err := f.store.Snapshots.LastNumber(ctx, environment.ID)
	if err == nil && latest != int64(snapshots) {
		err = fmt.Errorf("%d reports made %d snapshots", snapshots, latest)
	}
	return err
}

func digests(seed, version string, i int) map[string]string {
	return map[string]string{image(team(i), component(i)): digest(seed, version, i)}
}

// instanceOf returns a pod in the canonical form of a report.
func instanceOf(seed string, i int) snapshot.Instance {
	sent := pod(seed, i)
	owner := sent.Owners[0]
	return snapshot.Instance{
		Digests: digests(seed, firstVersion, i), CreatedAt: sent.CreationTimestamp, Pod: sent.PodName,
		PodContext: &snapshot.Pod{Namespace: sent.Namespace, CreatedAt: sent.CreationTimestamp, Owners: []snapshot.Owner{{
			APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID,
			Controller: owner.Controller, BlockOwnerDeletion: owner.BlockOwnerDeletion,
		}}},
	}
}

// noQueue is a queue without workers, in which no request waits for a verdict.
type noQueue struct{}

func (noQueue) Dispatch(context.Context, *job.Kind, string, int64) {}
func (noQueue) Unreachable() bool                                  { return false }
func (noQueue) Register(string) (<-chan struct{}, func(), bool) {
	return nil, func() {}, false
}
func (noQueue) PublishChange(context.Context, string) {}
