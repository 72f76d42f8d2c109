package workload

import (
	"context"
	"fmt"
	"time"

	"attestry/evidence"
	rules "attestry/evidence/snapshot"
	"attestry/tasks/snapshot"
)

// history is an environment with many snapshots, which are made past the HTTP server
// and the queue: through these they would take minutes.
type history struct {
	stage       *stage
	environment string // name
	seed        string
	instances   []rules.Instance
	submission  snapshot.Submission
	intake      *snapshot.Intake
	processor   *snapshot.Processor
}

// newHistory makes an environment and its first snapshot.
func (s *stage) newHistory(pods int) (*history, error) {
	ctx := context.Background()
	name, err := s.environment(s.client(), "history")
	if err != nil {
		return nil, err
	}
	store := s.instance.Process.Store
	found, err := store.Tenancy.Organization(ctx, organization)
	if err != nil {
		return nil, err
	}
	ref, err := store.Environments.Resolve(ctx, found.ID, name)
	if err != nil {
		return nil, err
	}
	h := &history{
		stage: s, environment: name, seed: s.scope,
		submission: snapshot.Submission{Org: found.ID, Environment: ref.ID, ReportedBy: organization},
		intake:     snapshot.NewIntake(store, unheard{}, unheard{}, time.Now, 0),
		processor:  snapshot.NewProcessor(store, unheard{}, time.Now, s.instance.Process.Log),
	}
	for i := range pods {
		h.instances = append(h.instances, instanceOf(h.seed, i))
	}
	return h, h.report(ctx)
}

// extend makes as many snapshots more; before each of them the pods change.
func (h *history) extend(snapshots int, change func(n int)) error {
	ctx := context.Background()
	first, err := h.latest(ctx)
	if err != nil {
		return err
	}
	for n := range snapshots {
		change(n)
		if err := h.report(ctx); err != nil {
			return err
		}
	}
	if last, err := h.latest(ctx); err != nil || last != first+int64(snapshots) {
		return fmt.Errorf("%d snapshots follow number %d, the last one is number %d: %w", snapshots, first, last, err)
	}
	return nil
}

func (h *history) latest(ctx context.Context) (int64, error) {
	return h.stage.instance.Process.Store.Snapshots.Latest(ctx, h.submission.Environment)
}

func (h *history) report(ctx context.Context) error {
	h.submission.Report = rules.Canonical(evidence.K8S, h.instances)
	if _, err := h.intake.Accept(ctx, h.submission); err != nil {
		return err
	}
	return h.processor.Drain(ctx, h.submission.Environment)
}

// run lets a pod run another version of its image.
func (h *history) run(pod int, version string) {
	h.instances[pod].Digests = map[string]string{imageName(pod): digest(h.seed, version, pod)}
}

// instanceOf is a pod as a report in its canonical form has it.
func instanceOf(seed string, i int) rules.Instance {
	sent := pod(seed, i)
	instance := rules.Instance{
		Digests: map[string]string{}, CreatedAt: sent.CreationTimestamp, Pod: sent.PodName,
		PodContext: &rules.Pod{Namespace: sent.Namespace, CreatedAt: sent.CreationTimestamp},
	}
	for name, fingerprint := range sent.Digests {
		instance.Digests[name] = string(fingerprint)
	}
	for _, owner := range sent.Owners {
		instance.PodContext.Owners = append(instance.PodContext.Owners, rules.Owner{
			APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID,
			Controller: owner.Controller, BlockOwnerDeletion: owner.BlockOwnerDeletion,
		})
	}
	return instance
}

// unheard is a queue that nobody serves and nobody waits for.
type unheard struct{}

func (unheard) Report(string, int64) {}
func (unheard) Away() bool           { return false }
func (unheard) Register(string) (<-chan struct{}, func(), bool) {
	return nil, func() {}, false
}
func (unheard) Settled(context.Context, string) {}
